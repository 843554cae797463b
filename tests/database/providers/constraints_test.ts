import { assertEquals, assertInstanceOf, assertNotMatch, assertRejects } from "@std/assert";
import { inspect } from "node:util";
import {
  closeDrizzleClient,
  createQueryFactory,
  type DatabaseConfig,
  DatabaseOperation,
  type DrizzleClient,
  getDrizzleClient,
} from "../../../database/mod.ts";
import type { SQL } from "drizzle-orm";
import { sql } from "../../../database/orm.ts";
import { causeChain } from "../../../errors/cause_chain.ts";
import {
  AppError,
  ConflictError,
  DatabaseError,
  ForeignKeyViolationError,
  NotFoundError,
  UniqueViolationError,
  ValidationError,
} from "../../../errors/mod.ts";
import { type FaultLab, openFaultLab } from "../../support/fault_lab.ts";
import { withFaultTargets } from "../../support/fault_targets.ts";
import { startPostgres } from "../../support/postgres.ts";

// the clients of AWS and Neon keep sockets open between tests
const options = { sanitizeOps: false, sanitizeResources: false };

const tables = [{ table: "people", operations: [DatabaseOperation.Insert] }];
const SECRET = "qzxvalue";
const NUMBER = 471104711;
/** Digits alone would be found in durations too. */
const VALUES = /qzxvalue|471104711/;

/** A constraint's violation and what an application learns of it. */
interface Violation {
  readonly title: string;
  readonly statement: SQL;
  readonly type: new (...args: never[]) => DatabaseError;
  readonly status: number;
  readonly sqlState: string;
  readonly constraint?: string;
  /** The Data API does not name it for a unique constraint. */
  readonly table?: string;
  readonly columns: readonly string[];
  /** The key in `constraints`. */
  readonly key: string;
  readonly mappedStatus: number;
}

const VIOLATIONS: readonly Violation[] = [
  {
    title: "unique",
    statement: sql`INSERT INTO people (id, "E mail", org, nick) VALUES (2, ${SECRET}, 2, 'b')`,
    type: UniqueViolationError,
    status: 409,
    sqlState: "23505",
    constraint: "people_email_unique",
    table: "people",
    columns: ["E mail"],
    key: "people_email_unique",
    mappedStatus: 409,
  },
  {
    title: "unique of two columns",
    statement: sql`INSERT INTO people (id, org, nick) VALUES (2, 1, ${SECRET})`,
    type: UniqueViolationError,
    status: 409,
    sqlState: "23505",
    constraint: "people_org_nick_key",
    table: "people",
    columns: ["org", "nick"],
    key: "people_org_nick_key",
    mappedStatus: 409,
  },
  {
    title: "primary key",
    statement: sql`INSERT INTO people (id) VALUES (1)`,
    type: UniqueViolationError,
    status: 409,
    sqlState: "23505",
    constraint: "people_pkey",
    table: "people",
    columns: ["id"],
    key: "23505",
    mappedStatus: 409,
  },
  {
    title: "missing parent",
    statement: sql`INSERT INTO pets (id, owner) VALUES (1, ${NUMBER})`,
    type: ForeignKeyViolationError,
    status: 409,
    sqlState: "23503",
    constraint: "pets_owner_fkey",
    table: "pets",
    columns: ["owner"],
    key: "pets_owner_fkey",
    mappedStatus: 409,
  },
  {
    title: "parent in use",
    statement: sql`DELETE FROM people WHERE "E mail" = ${SECRET}`,
    type: ForeignKeyViolationError,
    status: 409,
    sqlState: "23503",
    constraint: "pets_owner_fkey",
    table: "pets",
    columns: [],
    key: "pets_owner_fkey",
    mappedStatus: 409,
  },
  {
    title: "check",
    statement: sql`INSERT INTO people (id, "E mail", age) VALUES (2, 'qzxvalueb', ${NUMBER})`,
    type: DatabaseError,
    status: 500,
    sqlState: "23514",
    constraint: "people_age_check",
    table: "people",
    columns: [],
    key: "people_age_check",
    mappedStatus: 400,
  },
  {
    title: "not null",
    statement: sql`INSERT INTO people (id, "E mail", name) VALUES (2, 'qzxvalueb', NULL)`,
    type: DatabaseError,
    status: 500,
    sqlState: "23502",
    table: "people",
    columns: ["name"],
    key: "people_name_not_null",
    mappedStatus: 400,
  },
  {
    title: "too long",
    statement: sql`INSERT INTO people (id, nick) VALUES (2, ${SECRET + SECRET})`,
    type: DatabaseError,
    status: 500,
    sqlState: "22001",
    columns: [],
    key: "22001",
    mappedStatus: 400,
  },
  {
    title: "malformed",
    statement: sql`INSERT INTO people (id) VALUES (${SECRET}::text::int)`,
    type: DatabaseError,
    status: 500,
    sqlState: "22P02",
    columns: [],
    key: "22P02",
    mappedStatus: 400,
  },
  {
    title: "out of range",
    statement: sql`INSERT INTO people (id) VALUES (${`${NUMBER}99999`}::text::int)`,
    type: DatabaseError,
    status: 500,
    sqlState: "22003",
    columns: [],
    key: "22003",
    mappedStatus: 400,
  },
];

async function createTables(db: DrizzleClient): Promise<void> {
  await db.execute(
    sql`CREATE TABLE people (id int PRIMARY KEY, "E mail" text CONSTRAINT people_email_unique UNIQUE,
      org int, nick varchar(12), age int CHECK (age < 200), name text NOT NULL DEFAULT 'x', UNIQUE (org, nick))`,
  );
  await db.execute(sql`CREATE TABLE pets (id int PRIMARY KEY, owner int REFERENCES people)`);
  await db.execute(
    sql`INSERT INTO people (id, "E mail", org, nick) VALUES (1, ${SECRET}, 1, ${SECRET})`,
  );
  await db.execute(sql`INSERT INTO pets (id, owner) VALUES (0, 1)`);
}

/** An error with its whole chain, as a debugger or console.log would show it. */
function showAll(error: unknown): string {
  return [
    inspect(error, { depth: 9, showHidden: true }),
    ...causeChain(error).map((link) => `${link} ${(link as Error).stack} ${JSON.stringify(link)}`),
  ].join("\n");
}

async function checkUnmapped(
  name: string,
  db: DrizzleClient,
  one: Violation,
  lab: FaultLab,
): Promise<void> {
  const { defineQuery } = createQueryFactory(() => db);
  const label = `${name}, ${one.title}`;
  for (const transaction of [false, true]) {
    const insert = defineQuery(
      { tables, name: "insert", transaction },
      (client) => Promise.resolve(client.execute(one.statement)),
    );
    const before = lab.lines.length;
    const error = await assertRejects(() => insert(), DatabaseError);
    assertInstanceOf(error, one.type, label);
    const isNamed = !(name.includes("Data API") && one.sqlState === "23505");
    const table = isNamed ? one.table : undefined;
    assertEquals(
      [error.statusCode, error.sqlState, error.constraint, error.table, error.columns],
      [one.status, one.sqlState, one.constraint, table, one.columns],
      label,
    );
    const line = lab.lines.slice(before).find(({ message }) =>
      /query failed|constraint violated/.test(message)
    )!;
    assertEquals(
      [line.level, line.queryName, line.sqlState, line.constraint, line.table, line.columns],
      [
        one.status < 500 ? "WARN" : "ERROR",
        "insert",
        one.sqlState,
        one.constraint,
        table,
        one.columns.length === 0 ? undefined : one.columns,
      ],
      label,
    );
    assertNotMatch(showAll(error), VALUES, label);
    const seen = await lab.request("", () => insert());
    assertEquals([seen.status, JSON.parse(seen.body).errors], [one.status, undefined], label);
  }
}

async function checkMapped(
  name: string,
  db: DrizzleClient,
  one: Violation,
  lab: FaultLab,
): Promise<void> {
  const { defineQuery } = createQueryFactory(() => db);
  const label = `${name}, ${one.title}, mapped`;
  const insert = defineQuery(
    { tables, name: "insert", constraints: { [one.key]: { field: "a.b", message: "is wrong" } } },
    (client) => Promise.resolve(client.execute(one.statement)),
  );
  const error = await assertRejects(() => insert(), AppError);
  assertInstanceOf(error, one.mappedStatus === 400 ? ValidationError : one.type, label);
  assertNotMatch(showAll(error), VALUES, label);
  const { status, body, code } = await lab.request("", () => insert());
  assertEquals(
    [status, JSON.parse(body).errors],
    [one.mappedStatus, { "a.b": ["is wrong"] }],
    label,
  );
  const codes: Record<string, string> = {
    "23505": "UNIQUE_VIOLATION",
    "23503": "FOREIGN_KEY_VIOLATION",
  };
  assertEquals(code, codes[one.sqlState] ?? "VALIDATION_FAILED", label);
}

async function checkOwnErrors(name: string, db: DrizzleClient): Promise<void> {
  const { defineQuery } = createQueryFactory(() => db);
  for (const transaction of [false, true]) {
    const own = new NotFoundError("No such pet");
    const find = defineQuery({ tables, name: "find", transaction }, async function find(client) {
      await client.execute(sql`SELECT 1`);
      throw own;
    });
    assertEquals(await assertRejects(() => find(), NotFoundError) === own, true, name);
    const add = defineQuery({ tables, name: "add", transaction }, async function add(client) {
      await client.execute(sql`INSERT INTO people (id) VALUES (1)`).catch((cause) => {
        throw new ConflictError("That id is taken", { cause });
      });
    });
    const error = await assertRejects(() => add(), ConflictError, "That id is taken");
    assertEquals(error instanceof DatabaseError, false, name);
  }
}

async function check(name: string, config: DatabaseConfig, lab: FaultLab): Promise<void> {
  const db = await getDrizzleClient(config);
  await createTables(db);
  for (const one of VIOLATIONS) {
    await checkUnmapped(name, db, one, lab);
    await checkMapped(name, db, one, lab);
  }
  await checkOwnErrors(name, db);
  await db.execute(sql`DROP TABLE pets`);
  await db.execute(sql`DROP TABLE people`);
}

Deno.test(
  "a violated constraint has a class, a status and names with every provider, and never a value",
  options,
  async () => {
    const postgres = await startPostgres();
    const lab = openFaultLab();
    const embedded: DatabaseConfig = {
      provider: "embedded-pg",
      connectionString: "memory://constraints",
    };
    try {
      await check("embedded-pg", embedded, lab);
      await withFaultTargets(postgres, ({ name, config }) => check(name, config, lab));
      assertNotMatch(JSON.stringify(lab.lines), VALUES);
    } finally {
      lab.close();
      await closeDrizzleClient(embedded);
      await postgres.stop();
    }
  },
);
