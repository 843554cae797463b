/**
 * drizzle's operators and row types, so that an application imports them from the version that the package runs on.
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

/** A row as it is read from a table: `SelectModel<typeof notes>`. */
export type SelectModel<T extends Table> = InferSelectModel<T>;

/** What it takes to insert a row into a table: `InsertModel<typeof notes>`. */
export type InsertModel<T extends Table> = InferInsertModel<T>;

/**
 * What may be changed of a row: every column but `id`, `createdAt` and the named keys, each optional:
 * `UpdateModel<typeof notes, "ownerId">`.
 */
export type UpdateModel<T extends Table, Keys extends keyof InferInsertModel<T> = never> = {
  // not Partial<Omit<…>>: TypeScript 5.9 then loses the columns that an insert may leave out
  [K in keyof InferInsertModel<T> as K extends "id" | "createdAt" | Keys ? never : K]?:
    InferInsertModel<T>[K];
};
