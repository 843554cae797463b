import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { createResponseCheck } from "../support/described_response.ts";
import {
  choose,
  createValueGenerator,
  type DescribedOperation,
  generateBodyText,
  generateQuery,
  listOperations,
  type ValueGenerator,
} from "../support/generated_requests.ts";
import { testSeed } from "../support/seed.ts";

const document = JSON.parse(
  await Deno.readTextFile(new URL("../../examples/booking/openapi.json", import.meta.url)),
);
/** The operations of the example's own handlers. */
const OPERATIONS = listOperations(document).filter(({ path }) => !path.startsWith("/auth/"));
const REQUESTS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 10_000 : 250;
const ROUND = 10;
const UNKNOWN = "6d5f1f0e-3b86-4a3c-9d0a-111111111111";
const PASSWORD = "correct horse battery";

interface Known {
  readonly admin: string;
  readonly guest: string;
  /** A room with bookings. */
  readonly bookedRoomId: string;
  /** Values of path parameters. */
  readonly ids: Readonly<Record<string, string>>;
}

async function call(url: string, token: string, path: string, body: unknown) {
  const response = await fetch(url + path, {
    method: "POST",
    headers: {
      "Authorization": `Bearer ${token}`,
      "Content-Type": "application/json",
      "Idempotency-Key": crypto.randomUUID(),
    },
    body: JSON.stringify(body),
  });
  assert(response.ok, `${path}: ${await response.clone().text()}`);
  return await response.json();
}

async function signIn(url: string, email: string): Promise<string> {
  return (await call(url, "", "/auth/sign-in/email", { email, password: PASSWORD })).token;
}

/** A day in the next century, so that generated bookings rarely overlap. */
const DAY = fc.integer({ min: 0, max: 30_000 }).map((day) =>
  new Date(Date.UTC(2101, 0, 1 + day)).toISOString().slice(0, 10)
);

function generateBody(
  { path, operation }: DescribedOperation,
  { bookedRoomId: roomId }: Known,
  fits: boolean,
  generateValue: ValueGenerator,
): fc.Arbitrary<string | undefined> {
  const { schema } = operation.requestBody.content["application/json"];
  const odd = generateValue(schema, false);
  if (path.endsWith("/photo")) {
    const photo = fc.record({ contentType: fc.constant("image/png") });
    return generateBodyText(fits ? photo : fc.oneof(photo, odd), fits);
  }
  if (path !== "/bookings") return generateBodyText(generateValue(schema, fits), fits);
  const stay = fc.tuple(DAY, fc.integer({ min: 1, max: 5 })).map(([arrival, nights]) => ({
    roomId,
    arrival,
    departure: new Date(Date.parse(arrival) + nights * 86_400_000).toISOString().slice(0, 10),
  }));
  return generateBodyText(fits ? stay : fc.oneof(stay, odd), fits);
}

function generateRequest(known: Known): fc.Arbitrary<{
  operation: DescribedOperation;
  url: string;
  init: RequestInit;
}> {
  const generateValue = createValueGenerator(document, {
    uuid: fc.constant(known.bookedRoomId),
    date: DAY,
    text: fc.string({ minLength: 1, maxLength: 20, unit: fc.constantFrom(..."abcdefgh") }),
  });
  return fc.tuple(fc.constantFrom(...OPERATIONS), fc.boolean()).chain(([operation, fits]) => {
    const { path, method, operation: described } = operation;
    const hasBody = described.requestBody !== undefined;
    // a cursor that fits comes from the server
    const parameters = described.parameters?.filter(({ name }: { name: string }) =>
      !fits || name !== "cursor"
    );
    const isOfAdmin = path.startsWith("/admin/") || path.startsWith("/rooms");
    return fc.record({
      id: choose(fits, undefined, known.bookedRoomId, UNKNOWN, "x", "%20", "..%2f"),
      query: generateQuery({ parameters }, fits, generateValue),
      token: choose<string | undefined>(
        fits,
        isOfAdmin ? known.admin : known.guest,
        known.guest,
        "wrong",
        undefined,
      ),
      type: choose(fits, "application/json", "text/plain", "a/b"),
      key: fc.uuid().chain((key) => choose<string | undefined>(fits, key, undefined, "a b")),
      text: hasBody ? generateBody(operation, known, fits, generateValue) : fc.constant(undefined),
    }).map(({ id, query, token, type, key, text }) => ({
      operation,
      url: `${path.replace(/\{(\w+)\}/, (_, name) => id ?? known.ids[name])}?${query}`,
      init: {
        method: method.toUpperCase(),
        redirect: "manual",
        body: text,
        headers: {
          ...token !== undefined && { Authorization: `Bearer ${token}` },
          ...text !== undefined && { "Content-Type": type },
          ...key !== undefined && { "Idempotency-Key": key },
        },
      },
    }));
  });
}

/**
 * Sends generated requests to the example's own operations and compares each response with its OpenAPI
 * document.
 *
 * @param url Address of the API, with the users `admin@example.com` and `ada@example.com`.
 */
export async function sendGeneratedRequests(url: string): Promise<void> {
  const explain = createResponseCheck(document);
  const [admin, guest] = [
    await signIn(url, "admin@example.com"),
    await signIn(url, "ada@example.com"),
  ];
  const seen = new Set<string>();
  for (let from = 0; from < REQUESTS; from += ROUND) {
    // generated requests delete them
    const room = await call(url, admin, "/rooms", { name: `Free ${from}` });
    const booked = await call(url, admin, "/rooms", { name: `Booked ${from}` });
    const year = 3000 + from / ROUND;
    const stay = { roomId: booked.id, arrival: `${year}-01-01`, departure: `${year}-01-02` };
    const booking = await call(url, guest, "/bookings", stay);
    const ids = { roomId: room.id, bookingId: booking.id };
    const known = { admin, guest, bookedRoomId: booked.id, ids };
    const requests = fc.sample(generateRequest(known), { numRuns: ROUND, seed: testSeed + from });
    for (const { operation: { path, method }, url: target, init } of requests) {
      const response = await fetch(url + target, init);
      const { status, headers } = response;
      const reason = explain(path, method, { status, headers, body: await response.text() });
      assertEquals(reason, undefined, `${target} ${JSON.stringify(init)}`);
      seen.add(`${method} ${path} ${status}`);
    }
  }
  const without = OPERATIONS.filter(({ method, path }) =>
    ![200, 201, 204, 302].some((status) => seen.has(`${method} ${path} ${status}`))
  );
  // no photo was uploaded
  assertEquals(
    without.map(({ path }) => path),
    ["/rooms/{roomId}/photo"],
    [...seen].sort().join("\n"),
  );
  assert(seen.size > 2 * OPERATIONS.length, [...seen].sort().join("\n"));
}
