/**
 * The work of a warm request to the notes application, in functions that `trellis build` wrote: round
 * trips, created promises and named functions, and that none of them loads `rest.cjs`. All are counted,
 * none is timed.
 */
import { assertEquals } from "@std/assert";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { buildNotes } from "../../scripts/bundles/built_notes.ts";
import { BUILD_PACKAGES, DATABASE_PACKAGES, installPackage } from "../consumers/support/package.ts";
import { startPostgres } from "../support/postgres.ts";
import { countRoundTrips } from "../support/round_trips.ts";
import { createRequests, type Kind, migrate, VARIABLES } from "./notes_requests.ts";
import { startNotes } from "./notes_process.ts";

/** What one warm request may cost. */
interface Limits {
  readonly trips: number;
  /** Promises of the function and its libraries. */
  readonly promises: number;
  /** Functions that are created and given a name, because of `build.keepNames`. */
  readonly names: number;
}

const LIMITS: Readonly<Record<Kind, Limits>> = {
  list: { trips: 2, promises: 19, names: 0 },
  get: { trips: 2, promises: 21, names: 0 },
  create: { trips: 4, promises: 73, names: 0 },
  invalid: { trips: 1, promises: 11, names: 1 },
  anonymous: { trips: 0, promises: 2, names: 0 },
  webhook: { trips: 1, promises: 17, names: 0 },
  signIn: { trips: 2, promises: 528, names: 271 },
  signUp: { trips: 2, promises: 574, names: 371 },
};
/** Requests before those that count, which connect and prepare statements. */
const WARM_UP = 3;
const COUNTED = 5;

const installed = await installPackage([...DATABASE_PACKAGES, ...BUILD_PACKAGES]);

Deno.test("a warm request of a built function costs no more than before", async () => {
  const dist = await buildNotes(installed.folder);
  const postgres = await startPostgres();
  const database = await postgres.createDatabase("notes_costs");
  const proxy = await countRoundTrips(database);
  const notes = startNotes(dist, { ...VARIABLES, DATABASE_URL: proxy.url });
  try {
    await migrate(database);
    const { send, status } = await createRequests(notes.send, database);
    const over: string[] = [];
    for (const kind of Object.keys(LIMITS) as Kind[]) {
      const costs: Limits[] = [];
      for (let n = 0; n < WARM_UP + COUNTED; n++) {
        const before = proxy.count();
        const { statusCode, body, promises, names, rest } = await send[kind]();
        assertEquals(statusCode, status[kind], `${kind}: ${body}`);
        assertEquals(rest, 0, `${kind} has loaded rest.cjs`);
        costs.push({ trips: proxy.count() - before, promises, names });
      }
      for (const what of ["trips", "promises", "names"] as const) {
        // work of a timer may fall into a request
        const least = Math.min(...costs.slice(WARM_UP).map((cost) => cost[what]));
        if (least > LIMITS[kind][what]) {
          over.push(`${kind}: ${least} ${what}, at most ${LIMITS[kind][what]}`);
        }
      }
    }
    assertEquals(over, [], `raise LIMITS in ${fileURLToPath(import.meta.url)} if it is worth that`);
  } finally {
    await notes.stop();
    await proxy.stop();
    await postgres.stop();
    await Deno.remove(dirname(dist), { recursive: true });
  }
});
