import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { integer, pgTable, text, uuid } from "drizzle-orm/pg-core";
import {
  assertRowExists,
  assertRowsExist,
  closeDrizzleClient,
  type DatabaseConfig,
  ForeignKeyViolationError,
  getDrizzleClient,
  withQueryMetrics,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { ConfigurationError } from "../../errors/mod.ts";

const owners = pgTable("owners", {
  id: uuid("id").primaryKey(),
  name: text("name"),
  groupNumber: integer("group_no"),
});
const ID = "00000000-0000-4000-8000-00000000000a";
const OTHER = "00000000-0000-4000-8000-00000000000b";
const config: DatabaseConfig = {
  provider: "embedded-pg",
  connectionString: "memory://integrity",
  instrument: false,
};

Deno.test("assertRowExists() and assertRowsExist() throw ForeignKeyViolationError without the value when a row is absent", async () => {
  const db = await getDrizzleClient(config);
  try {
    await db.execute(sql`CREATE TABLE owners (id uuid PRIMARY KEY, name text, group_no int)`);
    await db.insert(owners).values([{ id: ID, name: "Ada", groupNumber: 1 }, {
      id: OTHER,
      name: "Bob",
    }]);

    await assertRowExists(db, owners, owners.id, ID);
    await assertRowExists(db, owners, "id", ID.toUpperCase());
    await assertRowExists(db, owners, "groupNumber", 1);
    await assertRowExists(db, owners, "group_no", 1);
    await assertRowExists(db, "owners", "name", "Ada");
    await assertRowExists(db, "public.owners", "id", ID);
    await db.transaction((tx) => assertRowExists(tx, owners, owners.id, ID));
    await assertRowsExist(db, owners, "id", []);
    // one row by the server's idea of equality, two by ours
    await assertRowsExist(db, owners, "id", [ID, ID.toUpperCase(), OTHER]);
    await assertRowsExist(
      db,
      owners,
      "id",
      Array.from({ length: 450 }, (_, at) => at % 2 === 0 ? ID : OTHER),
    );

    const absent = "00000000-0000-4000-8000-0000000000ff";
    for (
      const check of [
        () => assertRowExists(db, owners, owners.id, absent),
        () => assertRowExists(db, "owners", "name", "absent-marker"),
        () => assertRowExists(db, owners, "id", null),
        () => assertRowsExist(db, owners, "id", [ID, absent]),
        () =>
          assertRowsExist(db, owners, "id", [
            ...Array.from({ length: 399 }, () => crypto.randomUUID()),
            ID,
          ]),
        () => assertRowsExist(db, owners, "id", [ID, undefined]),
      ]
    ) {
      const error = await assertRejects(check, ForeignKeyViolationError);
      assertEquals([error.statusCode, error.code, error.table], [
        409,
        "FOREIGN_KEY_VIOLATION",
        "owners",
      ]);
      assertEquals(/marker|00ff/.test(error.message), false);
    }
    // as a foreign key would give it, so that a query can map it
    const missing = await assertRejects(
      () => assertRowExists(db, owners, "id", absent, { constraint: "pets_owner_fkey" }),
      ForeignKeyViolationError,
    );
    assertEquals([missing.sqlState, missing.constraint, missing.columns], [
      "23503",
      "pets_owner_fkey",
      ["id"],
    ]);
    const constraints = { pets_owner_fkey: { field: "ownerId", message: "does not exist" } };
    const addPet = () =>
      assertRowExists(db, owners, "id", absent, { constraint: "pets_owner_fkey" });
    const mapped = await assertRejects(
      () => withQueryMetrics("addPet", addPet, { constraints }),
      ForeignKeyViolationError,
    );
    assertEquals(mapped.errors, { ownerId: ["does not exist"] });
    const wrong = await assertRejects(
      () => assertRowExists(db, owners, "nothing", 1),
      ConfigurationError,
    );
    assertStringIncludes(wrong.message, "group_no");
  } finally {
    await closeDrizzleClient(config);
  }
});
