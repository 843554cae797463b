import { assertEquals } from "@std/assert";
import { executeRows, withTransaction } from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { bookings, rooms, users } from "../../examples/booking/src/schema.ts";
import { configureJobs } from "../../jobs/mod.ts";
import { createJobRunner, createTestDatabase } from "../../testing/mod.ts";

const { cancelBooking, confirmBooking, createBooking } = await import(
  "../../examples/booking/src/queries/bookings.ts"
);
const { stayWorkflow } = await import("../../examples/booking/src/workflows.ts");
const migrationsFolder = new URL("../../examples/booking/migrations", import.meta.url).pathname;

Deno.test("a confirmed booking is accompanied by mails, until it is cancelled", async () => {
  const restore = configureJobs({});
  const { db, close } = await createTestDatabase({ migrationsFolder });
  try {
    const [{ id: userId }] = await db.insert(users)
      .values({ name: "Ada", email: "ada@example.com" }).returning({ id: users.id });
    const [{ id: roomId }] = await db.insert(rooms)
      .values({ name: "Attic", description: "" }).returning({ id: rooms.id });
    await using runner = await createJobRunner({ db, jobs: [stayWorkflow.job] });
    const book = async (arrival: string, departure: string) => {
      const { id } = await createBooking.on(db, { userId, roomId, arrival, departure });
      await withTransaction(db, (tx) => confirmBooking.on(tx, id));
      return id;
    };
    const listMails = async () =>
      (await executeRows<{ name: string }>(
        db,
        sql`select name from trellis_jobs where name like 'mail.%' order by enqueued_at, position`,
      )).map(({ name }) => name);

    await book("2026-01-10", "2026-01-12");
    const cancelled = await book("2026-01-20", "2026-01-22");
    // longer than a sleep may last
    await book("2027-03-01", "2027-03-02");
    const confirmed = Array.from({ length: 3 }, () => "mail.booking-confirmed");
    assertEquals(await listMails(), confirmed);
    await runner.advance(9 * 86_400);
    assertEquals((await listMails()).slice(3), ["mail.arrival"]);
    await cancelBooking.on(db, userId, cancelled);
    await runner.advance(30 * 86_400);
    assertEquals((await listMails()).slice(3), ["mail.arrival", "mail.departure"]);
    await runner.advance(400 * 86_400);
    assertEquals((await listMails()).slice(5), ["mail.arrival", "mail.departure"]);
    const outputs = await executeRows<{ output: string; bookings: number }>(
      db,
      sql`select output, count(*)::int as bookings from trellis_workflows group by output order by output`,
    );
    assertEquals(outputs as unknown[], [
      { output: '"stayed"', bookings: 1 },
    ]);
    assertEquals(await db.$count(bookings), 3);
  } finally {
    await close();
    restore();
  }
});
