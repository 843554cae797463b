/** Translation and stand-in say the same about a statement, though they share no code. */
import { assert, assertEquals } from "@std/assert";
import type { Sql } from "postgres";
import { sanitizeForDistSql } from "../../../database/mod.ts";
import { translateForDistSql } from "../../../distsql/mod.ts";
import { splitStatements } from "../../../sql/statement.ts";
import { checkRefusals } from "../../../distsql/server/rules/check.ts";
import { loadStatementParser } from "../../../distsql/server/syntax/statements.ts";
import { RECREATED, REFUSED, STRIPPED, TRANSLATED, UNCHANGED } from "../translate/corpus.ts";
import { withDistSqlLab } from "../../support/distsql_lab.ts";
import { AGREEMENT_CASES } from "./agreement_cases.ts";
import { connect, refusal } from "./connect.ts";

const TODAY = "2026-11-01";
const parse = await loadStatementParser();

/** Why the stand-in's rules refuse a text; `undefined` when they do not. */
function getRefusal(text: string): string | undefined {
  try {
    for (const { text: statement } of splitStatements(text)) {
      for (const parsed of parse(statement)) {
        const refused = checkRefusals(parsed, TODAY);
        if (refused !== undefined) return `${refused.sqlstate} ${refused.message}`;
      }
    }
  } catch (error) {
    return `42601 ${(error as Error).message}`;
  }
}

/** What the stand-in cannot tell from one statement: what the text means as a migration, and what is not there. */
const OF_THE_TEXT: ReadonlySet<string> = new Set([
  ...[
    "primary-key-commented",
    "transaction-unpaired",
    "transaction-rollback",
    "transaction-modes",
    "do-block",
  ],
  // the database itself refuses what it does not have: functions, types, procedures
  ...["uuid-function-unsupported", "type-extension", "type-user-defined", "procedure"],
  // what the table is decides
  ...["index-json-key", "primary-key-change"],
]);

/** What says nothing to the server, so that leaving it out loses nothing: settings of pg_dump, comments, drizzle's marks. */
const SAYS_NOTHING: ReadonlySet<string> = new Set(["dump-settings", "empty-statement"]);

async function readSample(): Promise<string[]> {
  const file = new URL("../../../../shared/contract/distsql_cases.json", import.meta.url);
  try {
    return JSON.parse(await Deno.readTextFile(file)).cases.map(({ sql }: { sql: string }) => sql);
  } catch {
    // deno-lint-ignore no-console
    console.warn(
      `SKIPPED: ${file.pathname} is not there, so the sample of statements was not tried`,
    );
    return [];
  }
}

const CASES: readonly string[] = [
  ...await readSample(),
  ...AGREEMENT_CASES,
  ...Object.values(TRANSLATED).map(([sql]) => sql),
  ...UNCHANGED,
  ...STRIPPED,
  ...[...REFUSED, ...RECREATED].map(([sql]) => sql),
];

Deno.test("translateForDistSql() and the stand-in agree about accepted, omitted and rejected statements", () => {
  const disagreements: string[] = [];
  const counts = { accepted: 0, stripped: 0, refused: 0, ofTheText: 0 };
  for (const sql of CASES) {
    const { statements, refusals, rules } = translateForDistSql(sql);
    for (const step of refusals.length > 0 ? [] : statements) {
      counts.accepted++;
      const why = getRefusal(step.sql);
      if (why !== undefined) disagreements.push(`emitted, but refused there (${why}): ${step.sql}`);
    }
    const isLeftOut = refusals.length === 0 && statements.length === 0;
    if (refusals.length === 0 && !isLeftOut) continue;
    const ids = refusals.map(({ id }) => id);
    if (
      ids.some((id) => OF_THE_TEXT.has(id)) ||
      (isLeftOut && rules.every((id) => SAYS_NOTHING.has(id)))
    ) {
      counts.ofTheText++;
      continue;
    }
    counts[isLeftOut ? "stripped" : "refused"]++;
    if (getRefusal(sql) === undefined) {
      disagreements.push(
        `${isLeftOut ? "left out" : `refused (${ids})`}, but accepted there: ${sql}`,
      );
    }
  }
  assertEquals(disagreements, []);
  assert(
    counts.accepted > 150 && counts.refused > 100 && counts.stripped > 30,
    JSON.stringify(counts),
  );
});

/** Errors of the server for what it does not support, as opposed to objects that are not there. */
const NOT_SUPPORTED = /^(?:0A|54|42601|42P17)/;

const PRELUDE = [
  "CREATE TABLE u (id int PRIMARY KEY, n bigint NOT NULL UNIQUE)",
  "CREATE TABLE t (id int PRIMARY KEY, a text, b int, c int CONSTRAINT c CHECK (c > 0), f int REFERENCES u (id))",
  "INSERT INTO u VALUES (1, 1), (2, 2)",
  "INSERT INTO t VALUES (1, 'x', 1, 1, 1), (2, 'y', 2, 2, NULL)",
  "CREATE ROLE r",
  "CREATE SCHEMA app",
];

/** What the stand-in refuses for what a table is. */
const OF_THE_TABLE: readonly (readonly [sql: string, message: string])[] = [
  ["ALTER TABLE t DROP CONSTRAINT t_pkey", "unsupported ALTER TABLE DROP CONSTRAINT statement"],
  ["ALTER TABLE t DROP COLUMN id", "cannot drop primary key column id"],
  [
    "ALTER TABLE t ALTER id ADD GENERATED ALWAYS AS IDENTITY (CACHE 1)",
    "datatype integer not supported, identity column type must be bigint",
  ],
];

/** Brings the objects back that the statements are about. */
async function prepare(backing: Sql): Promise<void> {
  await backing.unsafe(
    "DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO PUBLIC; " +
      "DROP SCHEMA IF EXISTS app CASCADE; DROP ROLE IF EXISTS r; DROP ROLE IF EXISTS bob; DROP ROLE IF EXISTS bill",
  );
  await backing.unsafe(`SET ROLE admin; ${PRELUDE.join("; ")}; RESET ROLE`);
}

const options = { sanitizeOps: false, sanitizeResources: false };

Deno.test("the stand-in runs what translateForDistSql() emits", options, async () => {
  await withDistSqlLab(async ({ backing, server }) => {
    const sql = connect(server);
    const disagreements: string[] = [];
    try {
      for (const text of CASES) {
        // an identity for a column that is no bigint makes the table again: runMigrations asks the catalog
        if (/^(?:BEGIN|START|COMMIT|ROLLBACK|END|COPY)\b|ADD GENERATED/i.test(text)) continue;
        await prepare(backing);
        await sql.unsafe("RESET ALL");
        const { statements, refusals } = translateForDistSql(text);
        for (const step of refusals.length > 0 ? [] : statements) {
          const error = await refusal(sql.unsafe(step.sql));
          if (error !== undefined && NOT_SUPPORTED.test(error.sqlstate)) {
            disagreements.push(`${error.sqlstate} ${error.message}: ${step.sql}`);
          }
          if (error !== undefined) break;
        }
      }
      await prepare(backing);
      await sql.unsafe("RESET ALL");
      for (const [sentence, expected] of OF_THE_TABLE) {
        assertEquals((await refusal(sql.unsafe(sentence)))?.message, expected);
      }
    } finally {
      await sql.end();
    }
    assertEquals(disagreements, []);
  });
});

Deno.test("sanitizeForDistSql() changes nothing of what it wrote", () => {
  for (const sql of CASES) {
    if (translateForDistSql(sql).refusals.length > 0) continue;
    const text = sanitizeForDistSql(sql);
    if (text !== null) assertEquals(sanitizeForDistSql(text), text, sql);
  }
});
