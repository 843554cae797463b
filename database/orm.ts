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
  asc,
  count,
  desc,
  eq,
  gt,
  gte,
  inArray,
  type InferInsertModel,
  type InferSelectModel,
  isNotNull,
  isNull,
  lt,
  lte,
  ne,
  notInArray,
  or,
  sql,
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
