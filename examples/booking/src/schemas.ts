import * as z from "zod";

export const RoomInput = z.strictObject({
  name: z.string().trim().min(1).max(80),
  description: z.string().trim().max(2000).default(""),
});

export const RoomPath = z.object({ roomId: z.uuid() });

export const Room = z.object({
  id: z.uuid(),
  name: z.string(),
  description: z.string(),
  hasPhoto: z.boolean(),
});

/** The sort key of rooms: the name, and the id. */
export const RoomPosition = z.tuple([z.string(), z.uuid()]);
export type RoomPosition = z.infer<typeof RoomPosition>;

/** A room with the nights of the next year that cannot be booked. */
export const RoomDetails = Room.extend({ bookedNights: z.array(z.iso.date()) });

export const MAX_NIGHTS = 30;
const DAY_MS = 86_400_000;

export const BookingInput = z.strictObject({
  roomId: z.uuid(),
  arrival: z.iso.date(),
  departure: z.iso.date(),
}).refine(({ arrival, departure }) => listNights(arrival, departure).length > 0, {
  path: ["departure"],
  message: `must be 1 to ${MAX_NIGHTS} nights after the arrival`,
});

export const BookingPath = z.object({ bookingId: z.uuid() });

export const BookingStatus = z.enum(["requested", "confirmed", "cancelled"]);

export const Booking = z.object({
  id: z.uuid(),
  roomId: z.uuid(),
  roomName: z.string(),
  arrival: z.iso.date(),
  departure: z.iso.date(),
  status: BookingStatus,
});

/** The sort key of bookings: the arrival, and the id. */
export const BookingPosition = z.tuple([z.iso.date(), z.uuid()]);
export type BookingPosition = z.infer<typeof BookingPosition>;

/**
 * Lists the nights of a stay, which are none if it is too long or ends before it begins.
 *
 * @param arrival Day of arrival, `2026-01-31`.
 * @param departure Day of departure: its night is free.
 */
export function listNights(arrival: string, departure: string): string[] {
  const start = Date.parse(arrival);
  const count = (Date.parse(departure) - start) / DAY_MS;
  if (count < 1 || count > MAX_NIGHTS) return [];
  return Array.from(
    { length: count },
    (_, night) => new Date(start + night * DAY_MS).toISOString().slice(0, 10),
  );
}
