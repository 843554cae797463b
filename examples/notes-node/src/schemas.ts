import * as z from "zod";

export const Note = z.object({ id: z.uuid(), title: z.string(), createdAt: z.date() });
