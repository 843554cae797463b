import { assert, assertEquals } from "@std/assert";
import { splitStatements, translateForDistSql } from "../../../database/mod.ts";
import { checkRefusals } from "../../../testing/distsql/rules/check.ts";
import { loadStatementParser } from "../../../testing/distsql/statements.ts";
import { TRANSLATED } from "../../database/distsql/corpus.ts";

const TODAY = "2026-11-01";
const parse = await loadStatementParser();

/** Why the stand-in's rules, which know nothing of our translation, refuse a text; `undefined` when they do not. */
function refusalOf(text: string): string | undefined {
  for (const { text: statement } of splitStatements(text)) {
    for (const parsed of parse(statement)) {
      const refusal = checkRefusals(parsed, TODAY);
      if (refusal !== undefined) return `${refusal.sqlstate} ${refusal.message}`;
    }
  }
}

async function readSample(): Promise<[string, string][]> {
  const file = new URL("../../../../shared/contract/distsql_cases.json", import.meta.url);
  try {
    const { cases } = JSON.parse(await Deno.readTextFile(file));
    return cases.map(({ id, sql }: { id: string; sql: string }) => [id, sql]);
  } catch {
    // deno-lint-ignore no-console
    console.warn(`SKIPPED: ${file.pathname} is not there, so the sample of statements was not tried`);
    return [];
  }
}

const corpus: [string, string][] = Object.entries(TRANSLATED).map(([name, [text]]) => [name, text]);

for (const [source, cases] of [["the sample", await readSample()], ["the corpus", corpus]] as const) {
  Deno.test(`translateForDistSql() makes of ${source} what the stand-in takes, and refuses what it cannot`, () => {
    let translated = 0;
    for (const [name, text] of cases) {
      const { statements, refusals, action } = translateForDistSql(text);
      // what is refused here is told with advice; everything else must be acceptable there
      if (refusals.length > 0 || action === "Recreate") continue;
      for (const { sql } of statements) assertEquals(refusalOf(sql), undefined, `${name}: ${sql}`);
      if (statements.length > 0 && refusalOf(text) !== undefined) translated++;
    }
    assert(
      cases.length === 0 || translated > cases.length / 4,
      `${translated} statements were refused before translation`,
    );
  });
}
