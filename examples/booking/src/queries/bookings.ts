import { DatabaseOperation } from "@trellis/fn/database";
import { and, asc, eq, inArray, ne, sql } from "@trellis/fn/database/orm";
import { defineQuery } from "../database.ts";
import { bookingConfirmedMail } from "../mails.ts";
import { bookedNights, bookings, rooms, users } from "../schema.ts";
import { type BookingPosition, listNights } from "../schemas.ts";
import { stayWorkflow } from "../workflows.ts";
import { BOOKING, findStay } from "./stays.ts";

const { Select, Insert, Update, Delete } = DatabaseOperation;

/** Which bookings a list contains. */
export interface BookingFilter {
  userId?: string;
  status?: "requested" | "confirmed" | "cancelled";
}

export const listBookings = defineQuery(
  {
    tables: [
      { table: bookings, operations: [Select] },
      { table: rooms, operations: [Select] },
    ],
  },
  async function listBookings(db, filter: BookingFilter, take: number, after?: BookingPosition) {
    return await db.select(BOOKING).from(bookings)
      .innerJoin(rooms, eq(rooms.id, bookings.roomId))
      .where(and(
        filter.userId === undefined ? undefined : eq(bookings.userId, filter.userId),
        filter.status === undefined ? undefined : eq(bookings.status, filter.status),
        after &&
          sql`(${bookings.arrival}, ${bookings.id}) > (${after[0]}::date, ${after[1]}::uuid)`,
      ))
      .orderBy(asc(bookings.arrival), asc(bookings.id))
      .limit(take);
  },
);

/**
 * Books a room. Two bookings of the same night insert the same key into `booked_nights`: the database
 * refuses the second one, however many requests arrive at once.
 */
export const createBooking = defineQuery(
  {
    tables: [
      { table: rooms, operations: [Select] },
      { table: bookings, operations: [Select, Insert] },
      { table: bookedNights, operations: [Insert] },
    ],
    transaction: true,
    constraints: {
      booked_nights_pkey: { field: "arrival", message: "the room is taken in one of these nights" },
      bookings_room_id_fk: { field: "roomId", message: "is not a room" },
    },
  },
  async function createBooking(
    tx,
    stay: { userId: string; roomId: string; arrival: string; departure: string },
  ) {
    const [{ id }] = await tx.insert(bookings).values(stay).returning({ id: bookings.id });
    const nights = listNights(stay.arrival, stay.departure);
    await tx.insert(bookedNights).values(
      nights.map((night) => ({ roomId: stay.roomId, night, bookingId: id })),
    );
    const [booking] = await tx.select(BOOKING).from(bookings)
      .innerJoin(rooms, eq(rooms.id, bookings.roomId))
      .where(eq(bookings.id, id));
    return booking;
  },
);

/** Cancels a booking of a user and releases its nights. Returns `false` if there is none. */
export const cancelBooking = defineQuery(
  {
    tables: [
      { table: bookings, operations: [Select, Update] },
      { table: bookedNights, operations: [Select, Delete] },
    ],
    transaction: true,
  },
  async function cancelBooking(tx, userId: string, bookingId: string) {
    const cancelled = await tx.update(bookings).set({ status: "cancelled" })
      .where(and(
        eq(bookings.id, bookingId),
        eq(bookings.userId, userId),
        ne(bookings.status, "cancelled"),
      ))
      .returning({ id: bookings.id });
    if (cancelled.length === 0) return false;
    await tx.delete(bookedNights).where(eq(bookedNights.bookingId, bookingId));
    return true;
  },
);

/** Confirms a requested booking. Its mail is sent and its workflow starts if the transaction commits, and only then. */
export const confirmBooking = defineQuery(
  {
    tables: [
      { table: bookings, operations: [Select, Update] },
      { table: rooms, operations: [Select] },
      { table: users, operations: [Select] },
    ],
    transaction: true,
  },
  async function confirmBooking(tx, bookingId: string) {
    const confirmed = await tx.update(bookings).set({ status: "confirmed" })
      .where(and(eq(bookings.id, bookingId), eq(bookings.status, "requested")))
      .returning({ id: bookings.id });
    if (confirmed.length === 0) return undefined;
    const { email, ...booking } = await findStay.on(tx, bookingId);
    const { roomName, arrival, departure } = booking;
    await bookingConfirmedMail.send(tx, { to: email, data: { roomName, arrival, departure } });
    await stayWorkflow.start(tx, { bookingId, arrival, departure });
    return booking;
  },
);

/** Cancels requests that nobody confirmed for a day, at most 100 in one transaction. */
export const expireRequests = defineQuery(
  {
    tables: [
      { table: bookings, operations: [Select, Update] },
      { table: bookedNights, operations: [Select, Delete] },
    ],
    transaction: true,
  },
  async function expireRequests(tx, now: Date) {
    const old = tx.select({ id: bookings.id }).from(bookings)
      .where(and(
        eq(bookings.status, "requested"),
        sql`${bookings.createdAt} < ${now}::timestamptz - interval '1 day'`,
      ))
      .limit(100);
    const expired = await tx.update(bookings).set({ status: "cancelled" })
      .where(and(eq(bookings.status, "requested"), inArray(bookings.id, old)))
      .returning({ id: bookings.id });
    const ids = expired.map(({ id }) => id);
    if (ids.length > 0) await tx.delete(bookedNights).where(inArray(bookedNights.bookingId, ids));
    return ids.length;
  },
);
