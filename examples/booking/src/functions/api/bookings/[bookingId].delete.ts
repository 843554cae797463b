import { buildValidatedResponse } from "@trellis/fn/core";
import { NotFoundError } from "@trellis/fn/errors";
import { defineApiHandler } from "@trellis/fn/validation";
import "../../../auth.ts";
import { cancelBooking } from "../../../queries/bookings.ts";
import { BookingPath } from "../../../schemas.ts";

export const handler = defineApiHandler({
  auth: "session",
  pathSchema: BookingPath,
  openapi: { summary: "Cancel one of your bookings", tags: ["bookings"], successStatus: 204 },
})(async function removeBooking({ context, path, userId }) {
  if (!await cancelBooking(userId, path.bookingId)) throw new NotFoundError("No such booking");
  return buildValidatedResponse(context, 204);
});
