/**
 * The round trips of the notes application in `bench/apps`: a change that adds one to a request
 * fails here. On a network each costs 0.3 to 1 ms.
 */
import { assertEquals } from "@std/assert";
import { closeDrizzleClient } from "../../database/mod.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { createLambdaContext } from "../../testing/mod.ts";
import { startPostgres } from "../support/postgres.ts";
import { countRoundTrips } from "../support/round_trips.ts";
import {
  type Answer,
  createRequests,
  type FunctionName,
  FUNCTIONS,
  type Kind,
  migrate,
  VARIABLES,
} from "./notes_requests.ts";

type Handler = (event: unknown, context: unknown) => Promise<Answer>;

const SOURCES = "../../bench/apps/notes/src/functions";
const postgres = await startPostgres();
const target = await postgres.createDatabase("notes_trips");
const proxy = await countRoundTrips(target);
const variables = { ...VARIABLES, DATABASE_URL: proxy.url };
for (const [name, value] of Object.entries(variables)) Deno.env.set(name, value);
const lines: string[] = [];
const restore = setLogOutput((line) => void lines.push(line));

async function send(name: FunctionName, event: unknown): Promise<Answer> {
  const { handler } = await import(`${SOURCES}/${FUNCTIONS[name]}`) as { handler: Handler };
  return await handler(event, createLambdaContext());
}

Deno.test.afterAll(async () => {
  restore();
  for (const name of Object.keys(variables)) Deno.env.delete(name);
  await closeDrizzleClient();
  await proxy.stop();
  await postgres.stop();
});

Deno.test("a request of the notes application takes no more round trips than before", async () => {
  await migrate(target);
  const requests = await createRequests(send, target);

  /** Sends requests and returns the round trips of the first and of the third. */
  async function countTrips(kind: Kind): Promise<[first: number, warm: number]> {
    const trips: number[] = [];
    for (let n = 0; n < 3; n++) {
      const before = proxy.count();
      const { statusCode, body } = await requests.send[kind]();
      assertEquals(statusCode, requests.status[kind], `${kind}: ${body}${lines.at(-1)}`);
      trips.push(proxy.count() - before);
    }
    return [trips[0], trips[2]];
  }

  const trips: Record<string, number> = {};
  for (const kind of ["signUp", "signIn", "create", "invalid", "get"] as const) {
    [, trips[kind]] = await countTrips(kind);
  }
  // the first request of a process: connect, check, then twice the session and the notes, whose
  // parameter types the driver asks for once
  await closeDrizzleClient();
  [trips.firstList, trips.list] = await countTrips("list");
  for (const kind of ["anonymous", "webhook"] as const) [, trips[kind]] = await countTrips(kind);
  assertEquals(trips, {
    signUp: 8,
    signIn: 6,
    create: 5,
    invalid: 1,
    get: 2,
    firstList: 6,
    list: 2,
    anonymous: 0,
    webhook: 1,
  });
});
