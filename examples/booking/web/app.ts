/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
import { ApiError, unwrap } from "@trellis/fn/client";
import {
  type Booking,
  client,
  describe,
  findUser,
  getPhotoUrl,
  listBookings,
  listRequests,
  listRooms,
  type Room,
  uploadPhoto,
} from "./api.ts";
import { button, el, form, getPart, pagedList, run } from "./dom.ts";

const CREDENTIALS = { email: "email", password: "password" };

/** Shows the page for the session of the browser. */
async function showPage(): Promise<void> {
  const user = await findUser();
  const isAdmin = user?.role === "admin";
  const parts: (string | Node)[] = [];
  if (user === undefined) parts.push(...showSignIn());
  else parts.push(await showBookings());
  if (isAdmin) parts.push(await showRequests());
  parts.push(await showRooms(user !== undefined, isAdmin));
  getPart("main").replaceChildren(...parts);
  getPart("who").textContent = user ? `Signed in as ${user.email} (${user.role})` : "Signed out";
}

/** Runs an action and shows the page again. */
function change(done: string, action: () => Promise<unknown>): Promise<void> {
  return run(done, async () => {
    await action();
    await showPage();
  });
}

function showSignIn(): Node[] {
  return [
    form("Sign up", { name: "text", ...CREDENTIALS }, (values) =>
      change("Signed up", () => {
        const body = {
          name: `${values.get("name")}`,
          email: `${values.get("email")}`,
          password: `${values.get("password")}`,
        };
        return unwrap(client.POST("/auth/sign-up/email", { body }));
      })),
    form("Sign in", CREDENTIALS, (values) =>
      change("Signed in", () => {
        const body = { email: `${values.get("email")}`, password: `${values.get("password")}` };
        return unwrap(client.POST("/auth/sign-in/email", { body }));
      })),
  ];
}

async function showRooms(canBook: boolean, isAdmin: boolean): Promise<Node> {
  const rooms = await pagedList("rooms", listRooms, (room) => showRoom(room, canBook, isAdmin));
  const section = el("section", {}, el("h2", {}, "Rooms"), rooms);
  if (isAdmin) {
    section.append(
      form(
        "Add a room",
        { name: "text" },
        (values) =>
          change(
            "The room is added",
            () => unwrap(client.POST("/rooms", { body: { name: `${values.get("name")}` } })),
          ),
      ),
    );
  }
  return section;
}

function showRoom({ id, name, hasPhoto }: Room, canBook: boolean, isAdmin: boolean): Node {
  const item = el("li", {}, el("strong", {}, name));
  if (hasPhoto) item.append(el("img", { src: getPhotoUrl(id), alt: `Photo of ${name}` }));
  if (canBook) item.append(showBookingForm(id, name));
  if (isAdmin) {
    item.append(
      form(
        `Upload a photo of ${name}`,
        { photo: "file" },
        (values) =>
          run("The photo is uploaded", () => uploadPhoto(id, values.get("photo") as File)),
      ),
    );
  }
  return item;
}

function showBookingForm(roomId: string, name: string): Node {
  // pressing twice books once
  let key = crypto.randomUUID();
  return form(
    `Book ${name}`,
    { arrival: "date", departure: "date" },
    (values) =>
      change("The room is booked", async () => {
        const body = {
          roomId,
          arrival: `${values.get("arrival")}`,
          departure: `${values.get("departure")}`,
        };
        const params = { header: { "Idempotency-Key": key } };
        try {
          return await unwrap(client.POST("/bookings", { params, body }));
        } catch (error) {
          // an answered request is over: the next one needs another key
          if (error instanceof ApiError) key = crypto.randomUUID();
          throw error;
        }
      }),
  );
}

async function showBookings(): Promise<Node> {
  const list = await pagedList("bookings", listBookings, (booking) => {
    const item = showBooking(booking);
    const path = { bookingId: booking.id };
    if (booking.status !== "cancelled") {
      item.append(
        button(
          `Cancel ${booking.roomName} on ${booking.arrival}`,
          () =>
            change(
              "The booking is cancelled",
              () => unwrap(client.DELETE("/bookings/{bookingId}", { params: { path } })),
            ),
        ),
      );
    }
    return item;
  });
  const signOut = button(
    "Sign out",
    () => change("Signed out", () => unwrap(client.POST("/auth/sign-out"))),
  );
  // the API refuses the route to guests, whatever the page shows
  const askAll = button(
    "List all bookings",
    () => run("Here are all bookings", async () => await listRequests()),
  );
  return el("section", {}, el("h2", {}, "Your bookings"), list, signOut, askAll);
}

async function showRequests(): Promise<Node> {
  const list = await pagedList("requests", listRequests, (booking) => {
    const path = { bookingId: booking.id };
    const confirm = button(
      `Confirm ${booking.roomName} on ${booking.arrival}`,
      () =>
        change(
          "The booking is confirmed",
          () => unwrap(client.POST("/admin/bookings/{bookingId}/confirm", { params: { path } })),
        ),
    );
    const item = showBooking(booking);
    item.append(confirm);
    return item;
  });
  return el("section", {}, el("h2", {}, "Requests"), list);
}

function showBooking({ roomName, arrival, departure, status }: Booking): HTMLElement {
  return el("li", {}, `${roomName}, ${arrival} to ${departure}: ${status} `);
}

showPage().catch((error) => getPart("status").textContent = describe(error));
