import { NotFoundError } from "@trellis/fn/errors";
import { defineApiHandler } from "@trellis/fn/validation";
import { session } from "../../../../../auth.ts";
import { confirmBooking } from "../../../../../queries/bookings.ts";
import { Booking, BookingPath } from "../../../../../schemas.ts";

export const handler = defineApiHandler({
  auth: session({ roles: ["admin"] }),
  pathSchema: BookingPath,
  responses: { 200: Booking },
  openapi: { summary: "Confirm a requested booking", tags: ["admin"] },
})(async function postConfirmation({ path }) {
  const booking = await confirmBooking(path.bookingId);
  if (booking === undefined) throw new NotFoundError("No such request");
  return booking;
});
