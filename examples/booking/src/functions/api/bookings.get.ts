import { defineApiHandler, paginate } from "@trellis/fn/validation";
import { session } from "../../auth.ts";
import { listBookings } from "../../queries/bookings.ts";
import { Booking, BookingPosition } from "../../schemas.ts";

const page = paginate({ item: Booking, position: BookingPosition });

export const handler = defineApiHandler({
  auth: session(),
  querySchema: page.querySchema,
  responses: page.responses,
  openapi: { summary: "List your bookings", tags: ["bookings"] },
})(async function getBookings({ event, query, userId }) {
  const rows = await listBookings({ userId }, query.take, query.after);
  return page.reply(event, query, rows, ({ arrival, id }) => [arrival, id]);
});
