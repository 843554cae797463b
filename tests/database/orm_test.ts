import { assertEquals } from "@std/assert";
import { integer, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import * as orm from "../../database/orm.ts";
import type { InsertModel, SelectModel, UpdateModel } from "../../database/orm.ts";

const notes = pgTable("notes", {
  id: uuid("id").primaryKey().defaultRandom(),
  ownerId: uuid("owner_id").notNull(),
  title: text("title").notNull(),
  size: integer("size"),
  createdAt: timestamp("created_at").notNull().defaultNow(),
});

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;
function assertType<_T extends true>(): void {}

Deno.test("UpdateModel leaves out id, createdAt and the named keys, and makes the rest optional", () => {
  type Update = UpdateModel<typeof notes, "ownerId">;
  assertType<Equal<keyof Update, "title" | "size">>();
  assertType<Equal<Update["title"], string | undefined>>();
  assertType<Equal<Update["size"], number | null | undefined>>();
  assertType<Equal<keyof UpdateModel<typeof notes>, "title" | "size" | "ownerId">>();
  const nothing: Update = {};
  assertEquals(nothing, {});
});

Deno.test("SelectModel and InsertModel are drizzle's own", () => {
  assertType<Equal<SelectModel<typeof notes>, typeof notes.$inferSelect>>();
  assertType<Equal<InsertModel<typeof notes>, typeof notes.$inferInsert>>();
});

Deno.test("./database/orm has every operator", () => {
  const names = "eq and or gt gte lt lte ne sql count asc desc inArray notInArray isNull isNotNull"
    .split(" ");
  assertEquals(
    names.filter((name) => typeof (orm as Record<string, unknown>)[name] !== "function"),
    [],
  );
});
