/// <reference lib="dom" />
import { assertEquals } from "@std/assert";
import config from "../../examples/booking/trellis.config.ts";
import { browserPath } from "../support/browser.ts";
import { sendGeneratedRequests } from "./booking_requests.ts";
import { type ExampleLab, startExample } from "./example_lab.ts";
import type { Visitor } from "./visitor.ts";

const PASSWORD = "correct horse battery";
/** The smallest picture: one pixel. */
const PNG = Uint8Array.from(
  atob(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  ),
  (character) => character.charCodeAt(0),
);

async function signUp(lab: ExampleLab, email: string, role: string): Promise<Visitor> {
  const visitor = await lab.visit();
  await visitor.open();
  await visitor.submit("Sign up", { name: "Test", email, password: PASSWORD }, "Signed up");
  await visitor.shows("#who", `Signed in as ${email} (${role})`);
  return visitor;
}

/** Lists the texts of a list's items. */
function listItems({ page }: Visitor, id: string): Promise<string[]> {
  return page.$$eval(`#${id} > li`, (items) => items.map(({ textContent }) => `${textContent}`));
}

async function addRooms(admin: Visitor): Promise<void> {
  for (const name of ["Attic", "Blue", "Cellar", "Über"]) {
    await admin.submit("Add a room", { name }, "The room is added");
  }
  await admin.submit("Add a room", { name: "Blue" }, "name is taken");
}

/** Reads all rooms by the button for the next page. */
async function readPages(guest: Visitor): Promise<void> {
  assertEquals((await listItems(guest, "rooms")).length, 3);
  await guest.page.$eval("#rooms + button", (button) => (button as HTMLElement).click());
  await guest.shows("#rooms", "Über");
  const names = await guest.page.$$eval("#rooms strong", (all) => all.map((e) => e.textContent));
  assertEquals(names, ["Attic", "Blue", "Cellar", "Über"]);
}

async function uploadPhoto(lab: ExampleLab, admin: Visitor): Promise<void> {
  const path = await Deno.makeTempFile({ suffix: ".png" });
  await Deno.writeFile(path, PNG);
  const form = 'form[aria-label="Upload a photo of Attic"]';
  const input = await admin.page.waitForSelector(`${form} input`);
  await (input as unknown as { uploadFile(path: string): Promise<void> }).uploadFile(path);
  await admin.submit("Upload a photo of Attic", {}, "The photo is uploaded");
  await Deno.remove(path);
  // the completion handler has run when the API knows the photo
  const hasPhoto = async () => {
    const { items } = await (await fetch(`${lab.url}/rooms`)).json();
    return items[0].hasPhoto;
  };
  while (!await hasPhoto()) await new Promise((resolve) => setTimeout(resolve, 20));
  await admin.open();
  await admin.page.waitForFunction(() => {
    const image = document.querySelector<HTMLImageElement>('img[alt="Photo of Attic"]');
    return image?.complete && image.naturalWidth === 1;
  });
}

/** Sends files that break the rules of the form. */
async function uploadOthers(lab: ExampleLab, admin: Visitor): Promise<void> {
  const cookies = await admin.page.browserContext().cookies();
  const headers = {
    Cookie: cookies.map(({ name, value }) => `${name}=${value}`).join("; "),
    "Content-Type": "application/json",
    Origin: lab.web.url,
  };
  const { items } = await (await fetch(`${lab.url}/rooms`)).json();
  const [{ id }] = items;

  async function upload(contentType: string, bytes: Uint8Array<ArrayBuffer>): Promise<number> {
    const body = JSON.stringify({ contentType: "image/png" });
    const answer = await fetch(`${lab.url}/rooms/${id}/photo`, { method: "POST", headers, body });
    const { url, fields } = await answer.json();
    const form = new FormData();
    for (const [name, value] of Object.entries({ ...fields, "Content-Type": contentType })) {
      form.append(name, `${value}`);
    }
    form.append("file", new Blob([bytes]));
    const response = await fetch(url, { method: "POST", body: form });
    await response.body?.cancel();
    return response.status;
  }

  assertEquals(await upload("text/html", PNG), 403);
  assertEquals(await upload("image/png", new Uint8Array(5_000_001)), 400);
  assertEquals(await upload("image/png", new TextEncoder().encode("<script>")), 204);
  await waitForRejection(lab);
  assertEquals((await (await fetch(`${lab.url}/rooms/${id}`)).json()).hasPhoto, false);
}

/** Waits until the completion handler has refused a file. */
async function waitForRejection({ askPage }: ExampleLab): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt++) {
    const { calls } = await askPage<{ calls: { id: string; functionName?: string }[] }>("state");
    const call = calls.find((each) => each.functionName === "RoomPhotos");
    const details = call && JSON.stringify(await askPage(`calls/${call.id}`));
    if (details?.includes("uploaded file rejected")) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("The file was not refused");
}

/** Reads the first events of an endless response, and leaves. */
async function leaveStream({ url }: ExampleLab): Promise<void> {
  const leaving = new AbortController();
  const response = await fetch(`${url}/ticks`, { signal: leaving.signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes('{"tick":2}')) text += (await reader.read()).value;
  const listEnds = async () => await (await fetch(`${url}/ticks?stopped=1`)).json();
  assertEquals(await listEnds(), []);
  leaving.abort();
  while ((await listEnds()).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  assertEquals(await listEnds(), [true]);
}

async function sendMessage({ url }: ExampleLab): Promise<void> {
  const sockets = [1, 2].map(() =>
    new WebSocket(`${url.replace("http", "ws")}/_trellis/websocket`)
  );
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.onopen = resolve)));
  const messages = sockets.map((socket) =>
    new Promise<string>((resolve) => socket.onmessage = ({ data }) => resolve(data))
  );
  sockets[0].send(JSON.stringify({ action: "announce", text: "The attic is free" }));
  assertEquals(await Promise.all(messages), Array(2).fill('{"text":"The attic is free"}'));
  await Promise.all(sockets.map((socket) =>
    new Promise((resolve) => {
      socket.onclose = resolve;
      socket.close();
    })
  ));
}

Deno.test({
  name: "the booking page works in a browser through the generated client against trellis dev",
  ignore: browserPath === undefined,
  async fn(test) {
    const lab = await startExample({
      name: "booking",
      additions: "booking",
      config: {
        ...config,
        infra: {
          ...config.infra,
          environment: { ...config.infra?.environment, SOCKET_URL: { websocket: true } },
        },
      },
      getConstants: (apiUrl) => ({ API_URL: apiUrl }),
    });
    try {
      const admin = await signUp(lab, "admin@example.com", "admin");
      const guest = await signUp(lab, "ada@example.com", "guest");
      const other = await signUp(lab, "bob@example.com", "guest");
      const stay = { arrival: "2030-05-01", departure: "2030-05-03" };

      await test.step("an administrator adds rooms, and a name is taken once", () =>
        addRooms(admin));
      await test.step("a guest reads the rooms by pages", async () => {
        await guest.open();
        await guest.shows("#rooms", "Attic");
        await readPages(guest);
      });
      await test.step("a guest books, and the database refuses a second booking", async () => {
        await guest.submit("Book Attic", stay, "The room is booked");
        await guest.shows("#bookings", "Attic, 2030-05-01 to 2030-05-03: requested");
        await other.open();
        const overlap = { arrival: "2030-05-02", departure: "2030-05-09" };
        await other.submit("Book Attic", overlap, "the room is taken in one of these nights");
        const next = { arrival: "2030-05-03", departure: "2030-05-04" };
        await other.submit("Book Attic", next, "The room is booked");
      });
      await test.step("the route of administrators is refused to a guest", async () => {
        await guest.press("List all bookings", "FORBIDDEN");
        await admin.press("List all bookings", "Here are all bookings");
      });
      await test.step("an administrator confirms, and the guest gets a mail", async () => {
        await admin.open();
        await admin.press("Confirm Attic on 2030-05-01", "The booking is confirmed");
        await lab.waitForMail("ada@example.com", "Your booking of Attic is confirmed");
        await guest.open();
        await guest.shows("#bookings", "Attic, 2030-05-01 to 2030-05-03: confirmed");
      });
      await test.step("the bucket refuses a file of another type, and deletes one that lies", () =>
        uploadOthers(lab, admin));
      await test.step("a photo goes to the bucket, and the page shows it", () =>
        uploadPhoto(lab, admin));
      await test.step("a cancelled night can be booked again", async () => {
        await guest.press("Cancel Attic on 2030-05-01", "The booking is cancelled");
        await other.submit("Book Attic", stay, "The room is booked");
      });
      await test.step("generated requests get no response that the document does not describe", () =>
        sendGeneratedRequests(lab.url));
      await test.step("a client that leaves stops a streamed response", () => leaveStream(lab));
      await test.step("a message reaches the WebSocket clients of a topic", () => sendMessage(lab));
    } finally {
      await lab.stop();
    }
  },
});
