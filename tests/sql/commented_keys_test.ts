import { assertEquals, assertLess } from "@std/assert";
import { findCommentedKeys } from "../../sql/commented_keys.ts";
import { translateStatements } from "../../distsql/translate/translate_text.ts";

const DROP = 'DROP CONSTRAINT "<constraint_name>"';

/** Comments, and the tables whose keys they are about. */
const COMMENTS: [string, ...string[]][] = [
  [`-- ALTER TABLE "notes" ${DROP};`, "notes"],
  [`--ALTER TABLE notes ${DROP}`, "notes"],
  [`-- alter table notes drop constraint "<constraint_name>";`, "notes"],
  [`-- ALTER TABLE "my table" ${DROP};`, "my table"],
  [`-- ALTER TABLE "my schema"."my table" ${DROP};`, "my schema.my table"],
  [`-- ALTER TABLE "my schema" . "my table" ${DROP};`, "my schema . my table"],
  [`-- ALTER TABLE "my-table" ${DROP};`, "my-table"],
  [`-- ALTER TABLE "a;b" ${DROP};`, "a;b"],
  [`-- ALTER TABLE "a--b" ${DROP};`, "a--b"],
  [`-- ALTER TABLE "it's" ${DROP};`, "it's"],
  [`-- ALTER TABLE "the ALTER TABLE page" ${DROP};`, "the ALTER TABLE page"],
  [`-- ALTER TABLE "12""" ${DROP};`, "12"],
  [`--   ALTER \t TABLE   "notes"   DROP\tCONSTRAINT   "<constraint_name>" ;`, "notes"],
  [`-- ALTER TABLE IF EXISTS ONLY "notes" DROP CONSTRAINT IF EXISTS "<constraint_name>";`, "notes"],
  [`-- ALTER TABLE "notes"\n--   ${DROP};`, "notes"],
  [`-- ALTER TABLE "notes"\r\n-- DROP\r\n-- CONSTRAINT "<constraint_name>";`, "notes"],
  [`/* ALTER TABLE\n "notes"\n ${DROP}; */`, "notes"],
  [`/**\n * ALTER TABLE "notes"\n *   ${DROP};\n */`, "notes"],
  [`/* ALTER TABLE "notes" */\n/* ${DROP} */`, "notes"],
  [`/* we can't know; the 12" table\n ALTER TABLE "notes" ${DROP}; */ SELECT 1;`, "notes"],
  [`-- ALTER TABLE "a" ADD COLUMN b int; ALTER TABLE "c" ${DROP};`, "c"],
  [`-- ALTER TABLE "a" ${DROP};\n-- ALTER TABLE "b" ${DROP};`, "a", "b"],
  [`SELECT 1;\n-- ALTER TABLE "a" ${DROP};\nSELECT 2;\n/* ALTER TABLE b ${DROP} */`, "a", "b"],
];

/** Texts in which no comment stands for the statement. */
const OTHERS: string[] = [
  `ALTER TABLE "notes" ${DROP};`,
  `SELECT 'x -- ALTER TABLE "notes" ${DROP};';`,
  `DO $$ BEGIN -- ALTER TABLE "notes" ${DROP};\n END $$;`,
  `-- Replace "<constraint_name>" by the name of the key.`,
  `-- ${DROP}`,
  `-- ALTER TABLE "notes"\nSELECT 1;\n-- ${DROP}`,
  `-- ALTER TABLE "notes" DROP CONSTRAINT "notes_pkey";`,
];

for (const [text, ...tables] of COMMENTS) {
  Deno.test(`findCommentedKeys() finds ${tables.join(", ")} in ${JSON.stringify(text)}`, () => {
    const found = findCommentedKeys(text);
    assertEquals(found.map(({ table }) => table), tables);
    for (const key of found) {
      assertEquals(text.slice(key.start, key.start + key.text.length), key.text);
    }
    const refused = translateStatements(text).statements.filter(({ rules }) =>
      rules.includes("primary-key-commented")
    );
    assertEquals(refused.map(({ refusals }) => refusals.length), tables.map(() => 1));
  });
}

for (const text of OTHERS) {
  Deno.test(`findCommentedKeys() finds nothing in ${JSON.stringify(text)}`, () => {
    assertEquals(findCommentedKeys(text), []);
  });
}

Deno.test("findCommentedKeys() takes linear time when comments repeat its parts", () => {
  const parts = [
    "ALTER ",
    "ALTER TABLE ",
    'ALTER TABLE "',
    "DROP CONSTRAINT ",
    "DROP CONSTRAINT IF ",
    '"',
    " ",
    `${DROP} `,
  ];
  for (const part of parts) {
    const startedAt = performance.now();
    findCommentedKeys(`-- ${part.repeat(1_000_000 / part.length)}"<constraint_name>"`);
    assertLess(performance.now() - startedAt, 3_000, part);
  }
});
