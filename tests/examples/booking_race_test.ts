import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  type DrizzleClient,
  getDrizzleClient,
  runMigrations,
  withTransaction,
} from "../../database/mod.ts";
import { eq, sql } from "../../database/orm.ts";
import { ConflictError, DatabaseError, UniqueViolationError } from "../../errors/mod.ts";
import { bookedNights, bookings, rooms, users } from "../../examples/booking/src/schema.ts";
import { listNights } from "../../examples/booking/src/schemas.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { withDistSqlLab } from "../support/distsql_lab.ts";
import { testSeed } from "../support/seed.ts";
import { createRandom } from "../support/random.ts";

Deno.env.set("JOBS_QUEUE_URL", "http://127.0.0.1/queue");
const { cancelBooking, confirmBooking, createBooking, expireRequests } = await import(
  "../../examples/booking/src/queries/bookings.ts"
);
Deno.env.delete("JOBS_QUEUE_URL");

const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const ROUNDS = isFull ? 400 : 8;
const RACERS = 8;
const migrationsFolder = new URL("../../examples/booking/migrations", import.meta.url).pathname;

/** What came of the racing calls. */
interface Outcome {
  booked: number;
  refused: number;
  /** Given up after the retries of conflicts. */
  conflicts: number;
}

Deno.test("racing bookings never share a night, on PostgreSQL and on Aurora DSQL", async (test) => {
  const unmute = setLogOutput(() => {});
  await withDistSqlLab(async (lab) => {
    const [{ url }] = await lab.native<{ url: string }[]>`
      SELECT format('postgres://postgres@127.0.0.1:%s/native', current_setting('port')) AS url`;
    const targets: Record<string, DatabaseConfig> = {
      PostgreSQL: { provider: "postgres", connectionString: url, maxConnections: RACERS },
      "Aurora DSQL": { ...lab.config, maxConnections: RACERS },
    };
    for (const [name, database] of Object.entries(targets)) {
      await test.step(name, async () => {
        await runMigrations({ migrationsFolder, database, translation: { enums: "check" } });
        try {
          const db = await getDrizzleClient(database);
          await race(name, db);
          await joinTransaction(db, name === "PostgreSQL");
        } finally {
          await closeDrizzleClient(database);
        }
      });
    }
  });
  unmute();
});

async function race(name: string, db: DrizzleClient): Promise<void> {
  const random = createRandom(testSeed);
  const [{ id: userId }] = await db.insert(users).values({ name: "Ada", email: "ada@example.com" })
    .returning({ id: users.id });
  const outcome: Outcome = { booked: 0, refused: 0, conflicts: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    const [{ id: roomId }] = await db.insert(rooms)
      .values({ name: `Room ${round}`, description: "" }).returning({ id: rooms.id });
    // in the first rounds all want the same nights: exactly one gets them
    const isSame = round < 2;
    const before = outcome.booked;
    const calls = Array.from({ length: RACERS }, () => {
      const arrival = isSame ? 3 : 1 + random.below(8);
      const departure = isSame ? 6 : arrival + 1 + random.below(5);
      const stay = { userId, roomId, arrival: day(arrival), departure: day(departure) };
      return book(db, stay, outcome, isSame ? 0 : random.below(4));
    });
    await Promise.all(calls);
    if (isSame) assertEquals(outcome.booked - before, 1, `round ${round}`);
    await checkNights(db, roomId, `${name}, round ${round}`);
  }
  // deno-lint-ignore no-console
  if (isFull) console.log(name, outcome);
  assert(outcome.refused > 0);
}

/** Books in a transaction of the caller, as the handler with its idempotency key does. */
async function joinTransaction(db: DrizzleClient, hasSavepoints: boolean): Promise<void> {
  const [{ id: userId }] = await db.select({ id: users.id }).from(users);
  const [{ id: roomId }] = await db.insert(rooms).values({ name: "Joined", description: "" })
    .returning({ id: rooms.id });
  const stay = { userId, roomId, arrival: day(1), departure: day(2) };
  const countNights = () => db.$count(bookedNights, eq(bookedNights.roomId, roomId));

  const undone = withTransaction(db, async (tx) => {
    await createBooking.on(tx, stay);
    throw new ConflictError("undo");
  });
  await assertRejects(() => undone, ConflictError);
  assertEquals(await countNights(), 0);

  // only a savepoint can undo the second booking alone
  const twice = withTransaction(db, async (tx) => {
    await createBooking.on(tx, stay);
    await assertRejects(() => createBooking.on(tx, stay), UniqueViolationError);
  });
  if (hasSavepoints) await twice;
  else await assertRejects(() => twice);
  assertEquals(await countNights(), hasSavepoints ? 1 : 0);
}

/** Books, and then cancels, confirms or expires, while the others do the same. */
async function book(
  db: DrizzleClient,
  stay: { userId: string; roomId: string; arrival: string; departure: string },
  outcome: Outcome,
  next: number,
): Promise<void> {
  try {
    const { id } = await createBooking.on(db, stay);
    outcome.booked++;
    // a stranger's request changes nothing
    assertEquals(await cancelBooking.on(db, crypto.randomUUID(), id), false);
    if (next === 1) await cancelBooking.on(db, stay.userId, id);
    if (next === 2) await confirmBooking.on(db, id);
    // two days later everything that is not confirmed has expired
    if (next === 3) await expireRequests.on(db, new Date(Date.now() + 2 * 86_400_000));
  } catch (error) {
    if (error instanceof UniqueViolationError) outcome.refused++;
    else if (error instanceof DatabaseError && error.sqlState === "40001") outcome.conflicts++;
    else throw error;
  }
}

/** Compares the booked nights with the nights of all bookings that are not cancelled. */
async function checkNights(db: DrizzleClient, roomId: string, where: string): Promise<void> {
  const stays = await db.select().from(bookings).where(sql`${bookings.roomId} = ${roomId}::uuid`);
  const expected = stays.filter(({ status }) => status !== "cancelled")
    .flatMap(({ id, arrival, departure }) =>
      listNights(arrival, departure).map((night) => `${night} ${id}`)
    ).sort();
  const nights = await db.select().from(bookedNights)
    .where(sql`${bookedNights.roomId} = ${roomId}::uuid`);
  const stored = nights.map(({ night, bookingId }) => `${night} ${bookingId}`).sort();
  assertEquals(stored, expected, where);
  assertEquals(new Set(nights.map(({ night }) => night)).size, nights.length, where);
}

function day(number: number): string {
  return `2030-01-${String(number).padStart(2, "0")}`;
}
