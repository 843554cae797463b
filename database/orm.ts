/**
 * drizzle's operators and row types, re-exported so that an application uses the drizzle version of
 * this package.
 *
 * @example
 * ```ts
 * import { eq, type UpdateModel } from "@trellis/fn/database/orm";
 * import { pgTable, text, uuid } from "drizzle-orm/pg-core";
 *
 * const notes = pgTable("notes", { id: uuid("id").primaryKey(), title: text("title").notNull() });
 * const change: UpdateModel<typeof notes> = { title: "Milk" };
 * console.log(change, eq(notes.title, "Milk") !== undefined); // { title: "Milk" } true
 * ```
 *
 * @module
 */
import type { InferInsertModel, InferSelectModel, Table } from "drizzle-orm";

export {
  and,
  arrayContained,
  arrayContains,
  arrayOverlaps,
  asc,
  avg,
  avgDistinct,
  between,
  cosineDistance,
  count,
  countDistinct,
  desc,
  eq,
  exists,
  gt,
  gte,
  hammingDistance,
  ilike,
  inArray,
  type InferInsertModel,
  type InferSelectModel,
  innerProduct,
  isNotNull,
  isNull,
  jaccardDistance,
  l1Distance,
  l2Distance,
  like,
  lt,
  lte,
  max,
  min,
  ne,
  not,
  notBetween,
  notExists,
  notIlike,
  notInArray,
  notLike,
  or,
  sql,
  sum,
  sumDistinct,
} from "drizzle-orm";

/** Row type for reading: `SelectModel<typeof notes>`. */
export type SelectModel<T extends Table> = InferSelectModel<T>;

/** Row type for inserting: `InsertModel<typeof notes>`. */
export type InsertModel<T extends Table> = InferInsertModel<T>;

/**
 * Row type for updating: every column except `id`, `createdAt` and the named keys, each optional:
 * `UpdateModel<typeof notes, "ownerId">`.
 */
export type UpdateModel<T extends Table, Keys extends keyof InferInsertModel<T> = never> = {
  // not Partial<Omit<…>>: with it, TypeScript 5.9 drops the columns that are optional on insert
  [K in keyof InferInsertModel<T> as K extends "id" | "createdAt" | Keys ? never : K]?:
    InferInsertModel<T>[K];
};
