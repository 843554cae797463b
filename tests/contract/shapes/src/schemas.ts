/** Schemas of every form that the OpenAPI document has, for generators of clients. */
import * as z from "zod";

export const Circle = z.object({ kind: z.literal("circle"), radius: z.number() });
export const Square = z.object({ kind: z.literal("square"), side: z.int().min(0).max(100) });
/** The fields of a circle: only `kind` says which it is. */
export const Ball = z.object({ kind: z.literal("ball"), radius: z.number() });
export const Shape = z.discriminatedUnion("kind", [Circle, Square, Ball]);
export const Color = z.enum(["red", "dark-blue", "1st"]);

/** A comment, and the answers to it. */
export const Comment = z.object({
  text: z.string(),
  get answers() {
    return z.array(Comment);
  },
});

export const Values = z.object({
  text: z.string(),
  day: z.iso.date(),
  // clients in Python send +00:00
  at: z.iso.datetime({ offset: true }),
  count: z.int(),
  ratio: z.number(),
  isOpen: z.boolean(),
  color: Color,
  note: z.string().nullable(),
  link: z.url().optional(),
  labels: z.record(z.string(), z.int()),
  matrix: z.array(z.array(z.int())),
  shape: Shape,
  shapes: z.array(Shape),
  thread: Comment,
});

export const Search = z.object({
  tag: z.array(z.string()).default([]),
  color: Color.optional(),
  limit: z.coerce.number().int().min(1).max(100).default(20),
  from: z.iso.date().optional(),
  exact: z.stringbool().default(false),
});
/** Texts: the types of kubb take no numbers as headers. */
export const SearchHeaders = z.object({
  "x-tenant": z.uuid(),
  "x-rank": z.enum(["high", "low"]).optional(),
});
export const SearchCookies = z.object({ theme: z.enum(["light", "dark"]).optional() });
export const Found = z.object({
  tag: z.array(z.string()),
  color: Color.optional(),
  limit: z.int(),
  from: z.iso.date().optional(),
  exact: z.boolean(),
  tenant: z.uuid(),
  rank: z.string().optional(),
  theme: z.string().optional(),
});

export const Upload = z.object({
  file: z.file(),
  note: z.string(),
  tags: z.array(z.string()).default([]),
});
export const Uploaded = z.object({
  name: z.string(),
  bytes: z.int(),
  sum: z.int(),
  note: z.string(),
  tags: z.array(z.string()),
});
export const Problem = z.object({ code: z.literal("TOO_MANY"), limit: z.int() });
