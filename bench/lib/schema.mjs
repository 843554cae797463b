// The schema of the adapters in bench/peers. The harness puts its own file of this name in this place.
import * as z from "zod";

export const OrderSchema = z.object({
  orderId: z.uuid(),
  customerEmail: z.email().max(254),
  currency: z.enum(["USD", "EUR", "GBP", "JPY"]),
  amount: z.number().positive(),
  quantity: z.int().min(1).max(100),
  description: z.string().min(1).max(2000),
  createdAt: z.iso.datetime(),
  tags: z.array(z.string().min(1).max(32)).max(10),
  shipping: z.object({
    street: z.string().min(1).max(100),
    city: z.string().min(1).max(100),
    zip: z.string().regex(/^[0-9A-Za-z -]{3,10}$/),
    country: z.string().length(2),
  }),
  gift: z.boolean().optional(),
});
