import { createTransactionStore } from "@trellis/fn/idempotency";
import { defineApiHandler, reply } from "@trellis/fn/validation";
import { session } from "../../auth.ts";
import { getDb } from "../../database.ts";
import { createBooking } from "../../queries/bookings.ts";
import { Booking, BookingInput } from "../../schemas.ts";

export const handler = defineApiHandler({
  auth: session(),
  schema: BookingInput,
  responses: { 201: Booking },
  // a client that repeats the request with its Idempotency-Key gets the first response
  idempotency: { store: createTransactionStore(getDb), required: false },
  openapi: { summary: "Book a room", tags: ["bookings"] },
})(async function postBooking({ body, userId, tx }) {
  return reply(201, await createBooking.on(tx, { ...body, userId }));
});
