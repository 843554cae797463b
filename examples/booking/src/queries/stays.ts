import { DatabaseOperation } from "@trellis/fn/database";
import { eq } from "@trellis/fn/database/orm";
import { defineQuery } from "../database.ts";
import { bookings, rooms, users } from "../schema.ts";

const { Select } = DatabaseOperation;

/** Columns of a booking with the name of its room. */
export const BOOKING = {
  id: bookings.id,
  roomId: bookings.roomId,
  roomName: rooms.name,
  arrival: bookings.arrival,
  departure: bookings.departure,
  status: bookings.status,
};

/** Returns a booking with the address of its guest. */
export const findStay = defineQuery(
  {
    tables: [
      { table: bookings, operations: [Select] },
      { table: rooms, operations: [Select] },
      { table: users, operations: [Select] },
    ],
  },
  async function findStay(db, bookingId: string) {
    const [stay] = await db.select({ ...BOOKING, email: users.email }).from(bookings)
      .innerJoin(rooms, eq(rooms.id, bookings.roomId))
      .innerJoin(users, eq(users.id, bookings.userId))
      .where(eq(bookings.id, bookingId));
    return stay;
  },
);
