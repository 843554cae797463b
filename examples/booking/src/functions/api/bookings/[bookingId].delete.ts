import { NotFoundError } from "@trellis/fn/errors";
import { defineApiHandler, reply } from "@trellis/fn/validation";
import { session } from "../../../auth.ts";
import { cancelBooking } from "../../../queries/bookings.ts";
import { BookingPath } from "../../../schemas.ts";

export const handler = defineApiHandler({
  auth: session(),
  pathSchema: BookingPath,
  openapi: { summary: "Cancel one of your bookings", tags: ["bookings"] },
})(async function removeBooking({ path, userId }) {
  if (!await cancelBooking(userId, path.bookingId)) throw new NotFoundError("No such booking");
  return reply(204);
});
