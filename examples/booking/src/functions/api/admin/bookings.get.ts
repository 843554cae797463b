import { defineApiHandler } from "@trellis/fn/validation";
import { session } from "../../../auth.ts";
import { decodeCursor, PageQuery, toPage } from "../../../cursor.ts";
import { listBookings } from "../../../queries/bookings.ts";
import { BookingPage, BookingStatus } from "../../../schemas.ts";

export const handler = defineApiHandler({
  auth: session({ roles: ["admin"] }),
  querySchema: PageQuery.extend({ status: BookingStatus.optional() }),
  responses: { 200: BookingPage },
  openapi: { summary: "List the bookings of all guests", tags: ["admin"] },
})(async function getAllBookings({ query: { limit, cursor, status } }) {
  const rows = await listBookings({ status }, limit, decodeCursor(cursor));
  return toPage(rows, limit, ({ arrival, id }) => [arrival, id]);
});
