import { defineApiHandler } from "@trellis/fn/validation";
import { session } from "../../auth.ts";
import { decodeCursor, PageQuery, toPage } from "../../cursor.ts";
import { listBookings } from "../../queries/bookings.ts";
import { BookingPage } from "../../schemas.ts";

export const handler = defineApiHandler({
  auth: session(),
  querySchema: PageQuery,
  responses: { 200: BookingPage },
  openapi: { summary: "List your bookings", tags: ["bookings"] },
})(async function getBookings({ query: { limit, cursor }, userId }) {
  const rows = await listBookings({ userId }, limit, decodeCursor(cursor));
  return toPage(rows, limit, ({ arrival, id }) => [arrival, id]);
});
