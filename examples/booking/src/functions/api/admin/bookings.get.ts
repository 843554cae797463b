import { defineApiHandler, paginate } from "@trellis/fn/validation";
import * as z from "zod";
import { session } from "../../../auth.ts";
import { listBookings } from "../../../queries/bookings.ts";
import { Booking, BookingPosition, BookingStatus } from "../../../schemas.ts";

const page = paginate({
  item: Booking,
  position: BookingPosition,
  filters: z.object({ status: BookingStatus.optional() }),
});

export const handler = defineApiHandler({
  auth: session({ roles: ["admin"] }),
  querySchema: page.querySchema,
  responses: page.responses,
  openapi: { summary: "List the bookings of all guests", tags: ["admin"] },
})(async function getAllBookings({ event, query }) {
  const rows = await listBookings(query.filters, query.take, query.after);
  return page.reply(event, query, rows, ({ arrival, id }) => [arrival, id]);
});
