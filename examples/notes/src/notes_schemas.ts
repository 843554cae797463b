import * as z from "zod";

export const NoteInput = z.strictObject({
  title: z.string().trim().min(1).max(200),
  body: z.string().max(20_000).default(""),
  labelId: z.string().max(40).nullish(),
});

export const NoteChange = z.strictObject({
  title: z.string().trim().min(1).max(200).optional(),
  body: z.string().max(20_000).optional(),
  labelId: z.string().max(40).nullable().optional(),
}).refine((change) => Object.keys(change).length > 0, "Give at least one of title, body, labelId");

export const NotePath = z.object({ noteId: z.uuid() });

export const NoteQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  label: z.array(z.string().max(40)).max(10).optional(),
  search: z.string().min(1).max(100).optional(),
});

export const Note = z.object({
  id: z.uuid(),
  title: z.string(),
  body: z.string(),
  labelId: z.string().nullable(),
  createdAt: z.date(),
  updatedAt: z.date(),
});

export const NoteList = z.object({ notes: z.array(Note) });
