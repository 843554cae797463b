import { assert, assertEquals, assertInstanceOf, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { readPermissionFiles } from "../../database/permissions/files.ts";
import { substituteVariables } from "../../database/permissions/substitute.ts";
import { ConfigurationError } from "../../errors/mod.ts";
import { parse, scan } from "../distsql/translate/oracle.ts";
import { entry, withFolder } from "./files.ts";
import { properties } from "./seeded.ts";
import { anyCharacter } from "../support/any_character.ts";

const { property } = properties("permission files", 500);

const value = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: anyCharacter, maxLength: 12 }),
  fc.stringMatching(/^['"\\$ ]?\w{0,5}['"\\$ ]?$/),
  fc.constantFrom(
    "app",
    "arn:aws:iam::1:role/app",
    "'; DROP ROLE admin; --",
    '"; DROP ROLE admin; --',
    "\\",
    "$$",
    "${OTHER}",
    "a b",
    "a\nb",
    "-- ",
    "/*",
    "é",
  ),
);
const variables = fc.record({ NAME: value, OTHER: value }, {
  requiredKeys: [],
  noNullPrototype: true,
});
/** Statements with a place for a variable of each kind: bare, in a name, in each kind of literal, in a comment. */
const template = fc.tuple(
  fc.constantFrom(
    "${NAME}",
    "${OTHER}",
    "a${NAME}b",
    "${NAME}${OTHER}",
    "$${NAME}",
    "${}",
    "${ NAME }",
    "${NAME",
    "${toString}",
  ),
  fc.constantFrom(
    (place: string) => `CREATE ROLE "${place}" WITH LOGIN`,
    (place: string) => `CREATE ROLE ${place} WITH LOGIN`,
    (place: string) => `GRANT SELECT ON notes TO "${place}"`,
    (place: string) => `GRANT SELECT ON "${place}".notes TO app`,
    (place: string) => `COMMENT ON ROLE app IS '${place}'`,
    (place: string) => `COMMENT ON ROLE app IS E'${place}'`,
    (place: string) => `COMMENT ON ROLE app IS $q$${place}$q$`,
    (place: string) => `COMMENT ON ROLE app IS U&'${place}'`,
    (place: string) => `-- for ${place}\nGRANT SELECT ON notes TO app /* ${place} */`,
  ),
);

property(
  "substituteVariables() puts a value where it stays one literal, name or word, or finds a fault",
  fc.property(template, variables, ([place, write], given) => {
    const sql = write(place);
    const { sql: written, unusable: faults } = substituteVariables(sql, given);
    if (faults.length > 0) return;
    const getKinds = (text: string): string[] | undefined => {
      try {
        return parse(text).map((statement) => Object.keys(statement)[0]);
      } catch {
        return undefined;
      }
    };
    const harmless = write(place.replaceAll(/\$\{(?:NAME|OTHER)\}/g, "x"));
    const expected = getKinds(harmless);
    if (expected === undefined) return;
    // what a bare word may not be, such as SELECT or 1a, is refused by the parser; it is never more than one statement
    const kinds = getKinds(written);
    if (kinds === undefined) return assertStringIncludes(sql, "ROLE");
    assertEquals(kinds, expected, written);
    assertEquals(scan(written).length, scan(harmless).length, written);
  }),
);

property(
  "substituteVariables() tells of every variable that has no value, and replaces in nothing else",
  fc.property(template, variables, ([place, write], given) => {
    const sql = write(place);
    const { sql: written, unusable: faults } = substituteVariables(sql, given);
    const isComment = sql.startsWith("--");
    const named = [...sql.matchAll(/\$\{([^}]*)\}/g)].map(([, name]) => name);
    if (isComment) assertEquals([written, faults], [sql, []]);
    // no value has a dollar sign, but one may stand before the variable
    else if (faults.length === 0 && !sql.includes("$$")) {
      assert(!/\$\{\w+\}/.test(written), written);
    }
    for (const name of named) {
      const isSet = name === "NAME" || name === "OTHER" ? (given[name] ?? "") !== "" : false;
      const isReplaced = !isComment && /["'$]/.test(sql.replaceAll(/\$\{[^}]*\}/g, ""));
      if (!isSet && isReplaced) {
        assert(faults.some((fault) => fault.name === name), `${name} in ${sql}`);
      }
    }
  }),
);

const sql = fc.oneof(
  fc.array(template, { maxLength: 3 }).map((all) =>
    all.map(([place, write]) => write(place)).join(";\n")
  ),
  fc.string({ unit: anyCharacter }),
);

property(
  "readPermissionFiles() gives statements, or one error that names a file and shows no value",
  fc.asyncProperty(
    fc.dictionary(
      fc.constantFrom("a.sql", "b.sql", "0001_a.sql", "c.txt", "é.sql", " .sql"),
      entry(sql),
      {
        maxKeys: 3,
      },
    ),
    fc.record({ NAME: value.map((text) => `v3ry-secret-${text}`), OTHER: value }, {
      requiredKeys: [],
    }),
    async (entries, given) => {
      await withFolder(entries, (folder) => {
        try {
          const statements = readPermissionFiles(folder, given);
          assert(statements.length > 0);
          for (const { source } of statements) {
            assert(Object.hasOwn(entries, source.file) && source.line > 0);
          }
        } catch (error) {
          assertInstanceOf(error, ConfigurationError);
          assert(!error.message.includes("v3ry-secret"), error.message);
          const isNamed = Object.keys(entries).some((file) => error.message.includes(file));
          assert(isNamed || error.message.includes(JSON.stringify(folder)), error.message);
        }
      });
    },
  ),
);
