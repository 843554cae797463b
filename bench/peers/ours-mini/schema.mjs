// bench/lib/schema.mjs written for zod/mini, with the English messages that zod sets by default.
import en from "zod/v4/locales/en.js";
import * as z from "zod/mini";

z.config(en());

export const OrderSchema = z.object({
  orderId: z.uuid(),
  customerEmail: z.email().check(z.maxLength(254)),
  currency: z.enum(["USD", "EUR", "GBP", "JPY"]),
  amount: z.number().check(z.positive()),
  quantity: z.int().check(z.minimum(1), z.maximum(100)),
  description: z.string().check(z.minLength(1), z.maxLength(2000)),
  createdAt: z.iso.datetime(),
  tags: z.array(z.string().check(z.minLength(1), z.maxLength(32))).check(z.maxLength(10)),
  shipping: z.object({
    street: z.string().check(z.minLength(1), z.maxLength(100)),
    city: z.string().check(z.minLength(1), z.maxLength(100)),
    zip: z.string().check(z.regex(/^[0-9A-Za-z -]{3,10}$/)),
    country: z.string().check(z.length(2)),
  }),
  gift: z.optional(z.boolean()),
});
