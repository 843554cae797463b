import { assert, assertEquals } from "@std/assert";
import * as drizzle from "drizzle-orm";
import { integer, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import * as conditions from "drizzle-orm/sql/expressions/conditions";
import * as select from "drizzle-orm/sql/expressions/select";
import * as aggregates from "drizzle-orm/sql/functions/aggregate";
import * as vectors from "drizzle-orm/sql/functions/vector";
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

Deno.test("./database/orm has every operator and aggregate of drizzle", () => {
  const { operators } = drizzle as object as { operators?: object };
  const names = [
    ...Object.keys(operators ?? { ...drizzle.getOperators(), ...drizzle.getOrderByOperators() }),
    ...[conditions, select, aggregates, vectors].flatMap(Object.keys)
      .filter((name) => name !== "bindIfParam"),
  ];
  assert(names.length > 35, names.join());
  assertEquals(
    names.filter((name) => typeof (orm as Record<string, unknown>)[name] !== "function"),
    [],
  );
});
