/**
 * Generated DDL and DML, with comments, dollar quotes and names that hold keywords, and known statements that were changed
 * in places, checked by the real PostgreSQL parser.
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { adaptForStandardPg } from "../../distsql/translate/adapt.ts";
import { sanitizeForDistSql, translateForDistSql } from "../../distsql/translate/sanitize.ts";
import { splitStatements, STATEMENT_BREAKPOINT } from "../../sql/statement.ts";
import { tokenize } from "../../sql/tokenize.ts";
import {
  RECREATED,
  REFUSED,
  STRIPPED,
  TRANSLATED,
  UNCHANGED,
} from "../distsql/translate/corpus.ts";
import { parse, protections, refused, scan, withoutAsync } from "../distsql/translate/oracle.ts";
import { properties } from "./seeded.ts";

const { property } = properties("the translation of SQL", 300);

/** Pieces that trip a reader which does not know literals. */
const TRICKS = [
  "a",
  "USING gin",
  "; DROP",
  "--",
  "/*",
  "*/",
  "ASYNC",
  "$$",
  "ü",
  "NOT NULL",
  ",",
  "(",
  ")",
  "--> statement-breakpoint",
  "\\",
];
const trick = fc.array(fc.constantFrom(...TRICKS), { maxLength: 3 }).map((parts) =>
  parts.join(" ")
);
const name = fc.oneof(
  fc.constantFrom(
    "t",
    "Users",
    "a1",
    "async",
    "größe",
    "exclude",
    "storage",
    "if",
    "only_x",
    "x$1",
  ),
  trick.map((text) => `"${`n${text}`.slice(0, 50)}"`),
  fc.constantFrom('"select"', '"a""b"', '"CREATE TABLE"', '"Mixed"'),
);
const literal = fc.oneof(
  trick.map((text) => `'${text}'`),
  trick.map((text) => `E'\\'${text.replaceAll("\\", "\\\\")}'`),
  trick.map((text) => `U&'${text.replaceAll("\\", "")}'`),
  trick.map((text) => `$q$${text}$q$`),
  fc.constantFrom("'it''s'", "1", "-1.5e3", "true", "$a$ $$ ; $a$"),
);
const type = fc.constantFrom(
  ...[
    "text",
    "integer",
    "BIGINT",
    "varchar(20)",
    "numeric(12, 4)",
    "timestamp(3) with time zone",
    "double precision",
    "uuid",
  ],
);
const comment = fc.oneof(
  fc.constant(" "),
  fc.constant("\n\t"),
  fc.constant("\r\n"),
  trick.filter((text) => !/^>/.test(text)).map((text) => ` -- ${text}\n`),
  trick.filter((text) => !/\/\*|\*\//.test(text)).map((text) => ` /* ${text} /* nested ; */ */ `),
);

/** Joins tokens with spaces and comments. */
function spaced(tokens: fc.Arbitrary<(string | string[])[]>): fc.Arbitrary<string> {
  return fc.tuple(tokens, fc.array(comment, { minLength: 8, maxLength: 8 }), fc.nat(40)).map(
    ([list, gaps, offset]) => {
      const flat = list.flat();
      return flat.map((token, at) =>
        (at === 0 ? "" : (at + offset) % 5 === 0 ? gaps[at % gaps.length] : " ") + token
      )
        .join("");
    },
  );
}

const expression = fc.tuple(name, literal).map((
  [column, value],
) => ["(", column, "::text", "<>", `(${value})::text`, ")"]);
const fkAction = fc.constantFrom(
  "",
  "ON DELETE SET NULL",
  "ON DELETE cascade ON UPDATE no action",
  "MATCH FULL",
  "DEFERRABLE",
);
const columnRule: fc.Arbitrary<string[]> = fc.oneof(
  fc.constant<string[]>(["NOT", "NULL"]),
  literal.map((value) => ["DEFAULT", `(${value})::text`]),
  fc.constant<string[]>(["DEFAULT", "CASE WHEN 1 IS NOT NULL THEN NULL ELSE 2 END"]),
  expression.map((check) => ["CHECK", ...check]),
  fc.tuple(name, name, fkAction).map((
    [table, column, action],
  ) => ["REFERENCES", table, "(", column, ")", action]),
);
const column = fc.tuple(
  name,
  type,
  fc.option(columnRule, { nil: [] }),
  fc.constantFrom("", 'COLLATE "C"'),
).map((
  [id, kind, rule, collate],
) => [id, kind, kind === "text" ? collate : "", ...rule]);
const key = fc.uniqueArray(name, { minLength: 1, maxLength: 3 }).map((
  columns,
) => ["(", columns.join(", "), ")"]);
const tableRule: fc.Arbitrary<string[]> = fc.tuple(
  fc.option(name.map((id) => ["CONSTRAINT", id]), { nil: [] as string[] }),
  fc.oneof(
    expression.map((check) => ["CHECK", ...check]),
    fc.tuple(key, fc.constantFrom("", "DEFERRABLE INITIALLY DEFERRED")).map((
      [columns, end],
    ) => ["UNIQUE", ...columns, end]),
    fc.tuple(name, name, name, fkAction).map((
      [a, t, b, end],
    ) => ["FOREIGN KEY", "(", a, ")", "REFERENCES", t, "(", b, ")", end]),
  ),
).map(([start, rule]) => [...start, ...rule]);
const createTable = spaced(
  fc.tuple(
    name,
    fc.array(fc.oneof(column, tableRule), { minLength: 1, maxLength: 5 }),
    fc.constantFrom("", "UNLOGGED"),
  )
    .map((
      [table, elements, unlogged],
    ) => [
      "CREATE",
      unlogged,
      "TABLE",
      table,
      "(",
      ...elements.flatMap((element, at) => at === 0 ? element : [",", ...element]),
      ")",
    ]),
);
const indexKey = fc.tuple(
  fc.oneof(name, expression.map((check) => check.join(" "))),
  fc.constantFrom("", "text_ops", 'COLLATE "C"', 'COLLATE "C" text_pattern_ops'),
  fc.constantFrom("", "ASC", "DESC", "DESC NULLS LAST", "NULLS FIRST"),
).map((parts) => parts.join(" "));
const createIndex = spaced(
  fc.tuple(
    fc.constantFrom("INDEX", "UNIQUE INDEX", "UNIQUE index CONCURRENTLY"),
    fc.option(name, { nil: "" }),
    name,
    fc.constantFrom("", "USING btree", "using HASH", "USING brin"),
    fc.array(indexKey, { minLength: 1, maxLength: 4 }),
    fc.constantFrom(
      "",
      "WITH (fillfactor = 70)",
      "INCLUDE (x)",
      "NULLS NOT DISTINCT",
      "TABLESPACE fast",
    ),
    fc.option(expression, { nil: undefined }),
  ).filter(([, index]) => index !== "async").map((
    [kind, index, table, using, keys, tail, where],
  ) => [
    ...["CREATE", kind, index, "ON", table, using, "(", keys.join(" , "), ")", tail],
    ...where ? ["WHERE", ...where] : [],
  ]),
);
const alterAction: fc.Arbitrary<string[]> = fc.oneof(
  fc.tuple(column, fc.constantFrom("", "IF NOT EXISTS")).map((
    [definition, exists],
  ) => ["ADD COLUMN", exists, ...definition]),
  tableRule.map((rule) => ["ADD", ...rule]),
  name.map((id) => ["ALTER COLUMN", id, "SET NOT NULL"]),
  name.map((id) => ["DROP COLUMN", id]),
  fc.tuple(name, literal).map(([id, value]) => ["ALTER", id, "SET DEFAULT", value]),
  name.map((id) => ["VALIDATE CONSTRAINT", id]),
  name.map((id) => ["ALTER COLUMN", id, "SET STATISTICS", "100"]),
);
function getAlterTable(maxActions: number): fc.Arbitrary<string> {
  const actions = fc.array(alterAction, { minLength: 1, maxLength: maxActions });
  return spaced(
    fc.tuple(fc.constantFrom("", "ONLY", "IF EXISTS"), name, actions).map((
      [start, table, list],
    ) => [
      "ALTER",
      "TABLE",
      start,
      table,
      ...list.flatMap((action, at) => at === 0 ? action : [",", ...action]),
    ]),
  );
}
const alterTable = getAlterTable(3);
const rowStatement = spaced(fc.oneof(
  fc.tuple(name, name, literal).map((
    [t, c, v],
  ) => ["INSERT", "INTO", t, "(", c, ")", "VALUES", "(", v, ")", "RETURNING", "*"]),
  fc.tuple(name, name, literal).map((
    [t, c, v],
  ) => ["UPDATE", t, "SET", c, "=", v, "WHERE", c, "IS", "NOT", "NULL"]),
  fc.tuple(name, name, literal).map((
    [t, c, v],
  ) => ["SELECT", c, ",", v, "FROM", t, "WHERE", c, "IN", "(", v, ")", "FOR", "UPDATE"]),
));
const guarded = getAlterTable(1).filter((sql) => !sql.includes("$")).map((sql) =>
  `DO $do$ BEGIN\n${sql};\nEXCEPTION\n WHEN duplicate_object THEN null;\nEND $do$`
);
const statement = fc.oneof(createTable, createIndex, alterTable, rowStatement).filter(isPostgres);

function isPostgres(sql: string): boolean {
  try {
    return parse(sql).length === 1;
  } catch {
    return false;
  }
}

function parses(sql: string): boolean {
  try {
    parse(sql);
    return true;
  } catch {
    return false;
  }
}

const kinds = new Set(["string", "quoted", "line_comment", "block_comment"]);

/** Literals, quoted names and comments of a text. */
function untouchable(sql: string): string[] {
  return tokenize(sql).filter((token) => kinds.has(token.kind)).map((token) => token.text);
}

/** Names that the translation makes for constraints that have none. */
function isMadeName(piece: string): boolean {
  return /^".*_(?:not_null|check|fkey|key)\d*"$/s.test(piece) || piece === `"async"`;
}

property(
  "tokenize() gives the text back and cuts it where PostgreSQL does",
  fc.property(statement, (sql) => {
    const tokens = tokenize(sql);
    assertEquals(tokens.map((token) => token.text).join(""), sql);
    const starts = /^(?:['"$]|--|\/\*|[eu]&?')/i;
    assertEquals(
      untouchable(sql).filter((text) => starts.test(text)),
      scan(sql).filter((text) => starts.test(text)),
    );
  }),
);

property(
  "splitStatements() finds the statements that were joined",
  fc.property(
    fc.array(statement, { maxLength: 4 }),
    fc.constantFrom(";\n", `;${STATEMENT_BREAKPOINT}\n`, `\n${STATEMENT_BREAKPOINT}\r\n`),
    (
      list,
      separator,
    ) => {
      const bare = (sql: string): string => sql.trim().replace(/;$/, "").trim();
      assertEquals(
        splitStatements(list.join(separator)).map(({ text }) => bare(text)),
        list.map(bare),
      );
    },
  ),
);

property(
  "sanitizeForDistSql() writes what the provider takes, loses no constraint, and changes nothing the second time",
  fc.property(fc.oneof(statement, guarded), (sql) => {
    const { statements, refusals } = translateForDistSql(sql);
    assertEquals(refusals.map((refusal) => refusal.message), []);
    if (statements.length === 0) return;
    for (const { sql: written } of statements) {
      assertEquals(refused(written), [], written);
      assertEquals(translateForDistSql(written).statements.map((one) => one.sql), [written]);
    }
    const text = sanitizeForDistSql(sql)!;
    assertEquals(sanitizeForDistSql(text), text);
    if (sql.startsWith("DO")) return;
    const kept = statements.flatMap((one) => protections(withoutAsync(one.sql)));
    const asCheck = (list: string[]): string[] =>
      list.map((kind) => kind.replace("NOTNULL", "CHECK")).sort();
    assertEquals(asCheck(kept), asCheck(protections(sql)));
    const source = new Set(untouchable(sql));
    for (const piece of statements.flatMap((one) => untouchable(one.sql))) {
      assertEquals(source.has(piece) || isMadeName(piece), true, piece);
    }
  }),
);

property(
  "adaptForStandardPg() of sanitizeForDistSql() parses as PostgreSQL, with a prefix too",
  fc.property(
    fc.array(statement, { minLength: 1, maxLength: 3 }),
    fc.constantFrom("", "w1_", "w1.", "W-1_"),
    (list, prefix) => {
      const text = sanitizeForDistSql(list.join(";\n"));
      if (text === null) return;
      const adapted = adaptForStandardPg(text, prefix);
      assertEquals(parse(adapted).length, text.split(`\n${STATEMENT_BREAKPOINT}\n`).length);
      assertEquals(tokenize(adapted).map((token) => token.text).join(""), adapted);
      if (prefix === "") assertEquals(untouchable(adapted), untouchable(text));
    },
  ),
);

property(
  "translateForDistSql() never throws, whatever the text",
  fc.property(
    fc.array(
      fc.oneof(
        trick,
        literal,
        name,
        fc.constantFrom(..."CREATE ALTER TABLE INDEX ADD ON ( ) , ; CONSTRAINT DEFAULT".split(" ")),
      ),
      { maxLength: 20 },
    ),
    (words) => {
      const sql = words.join(" ");
      translateForDistSql(sql);
      adaptForStandardPg(sql, "w1_");
      assertEquals(tokenize(sql).map((token) => token.text).join(""), sql);
    },
  ),
);

const CORPUS = [
  ...Object.values(TRANSLATED).map(([sql]) => sql),
  ...UNCHANGED,
  ...STRIPPED,
  ...[...REFUSED, ...RECREATED].map(([sql]) => sql),
];
const WORDS = CORPUS.flatMap((sql) => tokenize(sql)).filter(({ kind }) => kind !== "space").map((
  { text },
) => text);

/** A known statement with words taken out, doubled, swapped, or put in from other statements. */
const changed = fc.tuple(
  fc.oneof(fc.constantFrom(...CORPUS), statement),
  fc.array(
    fc.record({
      at: fc.nat(80),
      cut: fc.nat(2),
      put: fc.oneof(fc.constant(""), fc.constantFrom(...WORDS), literal, name, comment),
    }),
    { maxLength: 4 },
  ),
).map(([sql, edits]) => {
  const words = tokenize(sql).map(({ text }) => text);
  for (const { at, cut, put } of edits) {
    words.splice(at % (words.length + 1), cut, ...put === "" ? [] : [" ", put, " "]);
  }
  return words.join("");
});

/** The tables and columns that a statement names, quoted or not, as PostgreSQL understands them. */
function getNames(sql: string): string[] {
  const names: string[] = [];
  JSON.stringify(parse(withoutAsync(sql)), (key, value) => {
    if (key === "relname" || key === "colname") names.push(value);
    if (key === "ColumnRef") {
      const { fields } = value as { fields: { String?: { sval: string } }[] };
      names.push(...fields.map(({ String: field }) => field?.sval ?? "*"));
    }
    return value;
  });
  return names;
}

/** Every text of the parse tree. */
function getTexts(sql: string): Set<string> {
  const texts = new Set<string>(["*"]);
  JSON.stringify(parse(sql), (_, value) => {
    if (typeof value === "string") texts.add(value);
    return value;
  });
  return texts;
}

property(
  "translateForDistSql() bears any change of a statement: what parsed parses, with its literals and names, and stays",
  fc.property(changed, (sql) => {
    assertEquals(tokenize(sql).map((token) => token.text).join(""), sql);
    const { statements, refusals } = translateForDistSql(sql);
    adaptForStandardPg(sql, "w1_");
    // a marker cuts a statement that it is put into
    const isCut = tokenize(sql).some(({ kind, text }) =>
      kind === "line_comment" && text.startsWith(STATEMENT_BREAKPOINT)
    );
    if (refusals.length > 0 || isCut || !parses(sql)) return;
    const source = untouchable(sql);
    const isBlock = source.some((text) => text.startsWith("$"));
    const names = getTexts(sql);
    for (const { sql: written } of statements) {
      // a table called add, which is no reserved word, cannot be distinguished from the action
      if (/^\s*aws\s+iam\s|^alter\s+table\s+async\s+(?:add|drop|alter|rename)\s/i.test(written)) {
        continue;
      }
      assertEquals(parses(withoutAsync(written)), true, `${sql}\nbecame\n${written}`);
      assertEquals(translateForDistSql(written).statements.map((one) => one.sql), [written], sql);
      if (!isBlock) {
        for (const each of getNames(written)) {
          assertEquals(names.has(each), true, `${each} in the translation of ${sql}`);
        }
      }
      for (const piece of untouchable(written)) {
        // the statement of a DO block stands in a literal
        const isKept = source.some((text) =>
          text === piece || (text.startsWith("$") && text.includes(piece))
        );
        assertEquals(isKept || isMadeName(piece), true, `${piece} in the translation of ${sql}`);
      }
    }
  }),
);

const FOUND: readonly (readonly [sql: string, expected: string])[] = [
  [
    "CREATE FUNCTION f() RETURNS trigger AS $$ $$ LANGUAGE",
    "CREATE FUNCTION f() RETURNS trigger AS $$ $$ LANGUAGE",
  ],
  ["INSERT INTO uuidv4 (a) VALUES (uuidv4())", "INSERT INTO uuidv4 (a) VALUES (gen_random_uuid())"],
  [
    "CREATE INDEX i ON t (nulls.first DESC NULLS LAST)",
    "CREATE INDEX ASYNC i ON t (nulls.first NULLS FIRST)",
  ],
];
for (const [sql, expected] of FOUND) {
  Deno.test(`translateForDistSql() bears what was found before: ${sql}`, () => {
    assertEquals(translateForDistSql(sql).statements.map((one) => one.sql), [expected]);
  });
}
