import * as z from "zod";

export const NoteInput = z.object({
  title: z.string().min(1).max(200),
  body: z.string().max(10_000),
  labelId: z.uuid(),
  color: z.enum(["white", "yellow", "green", "blue", "red"]),
  priority: z.int().min(1).max(5),
  pinned: z.boolean(),
  tags: z.array(z.string().min(1).max(32)).max(10),
  dueAt: z.iso.datetime().nullable(),
});

export const Note = z.object({
  id: z.uuid(),
  labelId: z.uuid(),
  title: z.string(),
  body: z.string(),
  color: z.string(),
  priority: z.int(),
  pinned: z.boolean(),
  tags: z.array(z.string()),
  dueAt: z.date().nullable(),
  createdAt: z.date(),
  updatedAt: z.date(),
});

export const NoteList = z.object({ notes: z.array(Note), next: z.string().nullable() });

export const ListQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  after: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z_[0-9a-f-]{36}$/).optional(),
});

export const NotePath = z.object({ id: z.uuid() });

export const WebhookEvent = z.looseObject({ id: z.string(), type: z.string() });

export const Received = z.object({ received: z.literal(true), duplicate: z.boolean() });
