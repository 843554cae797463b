import { assert, assertEquals, assertThrows } from "@std/assert";
import { applyAlterToSchema } from "../../../distsql/recreate/alter.ts";
import { RecreationError } from "../../../distsql/recreate/recreation_error.ts";
import { normalizeType } from "../../../distsql/schema/normalize_type.ts";
import type { TableSchema } from "../../../distsql/schema/table_schema.ts";

function makeNotes(): TableSchema {
  return {
    schema: "public",
    name: "notes",
    oid: "1",
    dialect: "postgres",
    columns: [
      { name: "id", type: "integer", notNull: true, identity: { always: false, options: "" } },
      { name: "author", type: "integer", notNull: false },
      {
        name: "Title",
        type: "character varying(40)",
        notNull: true,
        default: "'x'::character varying",
      },
      {
        name: "size",
        type: "integer",
        notNull: false,
        generated: { expression: 'length("Title")', stored: true },
      },
    ],
    constraints: [
      {
        name: "notes_pkey",
        type: "primary_key",
        columns: ["id"],
        definition: "PRIMARY KEY (id)",
        validated: true,
      },
      {
        name: "notes_author_fkey",
        type: "foreign_key",
        columns: ["author"],
        definition: 'FOREIGN KEY ("author") REFERENCES "public"."authors" ("id") ON DELETE CASCADE',
        validated: true,
        references: { schema: "public", table: "authors", columns: ["id"] },
      },
      {
        name: "notes_check",
        type: "check",
        columns: ["author", "Title"],
        definition: `CHECK ((author > 0) OR ("Title" <> 'author'::text))`,
        validated: false,
      },
    ],
    indexes: [
      {
        name: "notes_author",
        unique: false,
        definition: "USING btree (author)",
        columns: ["author"],
        keys: ["author"],
        valid: true,
      },
      {
        name: "notes_unique",
        unique: true,
        definition: 'USING btree (author, "Title")',
        columns: ["author", "Title"],
        keys: ["author", "Title"],
        valid: true,
      },
    ],
    grants: [{ grantee: "app", privilege: "SELECT", grantable: false, column: "author" }],
    referencedBy: [{
      name: "tags_note_fkey",
      type: "foreign_key",
      columns: ["note"],
      definition: 'FOREIGN KEY ("note") REFERENCES "public"."notes" ("id")',
      validated: true,
      references: { schema: "public", table: "notes", columns: ["id"] },
      from: { schema: "public", table: "tags" },
    }],
    sequences: [],
    dependents: [],
  };
}

interface AlterCase {
  alter: string;
  /** Changes the schema that is expected. */
  change: (notes: TableSchema) => void;
}

const CASES: AlterCase[] = [
  { alter: "ALTER author TYPE int8", change: ({ columns }) => columns[1].type = "bigint" },
  {
    alter: "ALTER COLUMN author SET DATA TYPE bigint",
    change: ({ columns }) => columns[1].type = "bigint",
  },
  {
    alter: `ALTER author TYPE text COLLATE "C" USING author::text || ', USING'`,
    change: ({ columns }) =>
      Object.assign(columns[1], {
        type: "text",
        collation: '"C"',
        using: "author::text || ', USING'",
      }),
  },
  // asked for again it must not convert again
  { alter: "ALTER author TYPE int USING author * 2", change: () => {} },
  {
    alter: `ALTER "Title" TYPE timestamptz(3) USING now()`,
    change: ({ columns }) =>
      Object.assign(columns[2], { type: "timestamp(3) with time zone", using: "now()" }),
  },
  { alter: "ALTER author SET NOT NULL", change: ({ columns }) => columns[1].notNull = true },
  { alter: `ALTER "Title" DROP NOT NULL`, change: ({ columns }) => columns[2].notNull = false },
  {
    alter: "ALTER author SET DEFAULT 1 + 2",
    change: ({ columns }) => columns[1].default = "1 + 2",
  },
  { alter: `ALTER "Title" DROP DEFAULT`, change: ({ columns }) => delete columns[2].default },
  {
    alter: "ALTER id DROP IDENTITY IF EXISTS",
    change: ({ columns }) => delete columns[0].identity,
  },
  {
    alter: "ALTER id SET GENERATED ALWAYS",
    change: ({ columns }) => columns[0].identity!.always = true,
  },
  {
    alter: "ALTER author ADD GENERATED ALWAYS AS IDENTITY (START WITH 7 CACHE 1)",
    change: ({ columns }) =>
      Object.assign(columns[1], {
        notNull: true,
        identity: { always: true, options: "START WITH 7 CACHE 1", name: "notes_author_seq" },
      }),
  },
  { alter: "ALTER size DROP EXPRESSION", change: ({ columns }) => delete columns[3].generated },
  {
    alter: `ALTER size SET EXPRESSION AS (2 * length("Title"))`,
    change: ({ columns }) => columns[3].generated!.expression = '2 * length("Title")',
  },
  {
    alter: `ADD "Body" varchar ( 9 ) DEFAULT ('a' || 'b') NOT NULL COLLATE "C"`,
    change: ({ columns }) =>
      columns.push({
        name: "Body",
        type: "character varying(9)",
        notNull: true,
        added: true,
        default: "('a' || 'b')",
        collation: '"C"',
      }),
  },
  {
    alter:
      "ADD COLUMN IF NOT EXISTS author text, ADD COLUMN IF NOT EXISTS ok bool UNIQUE CHECK (ok)",
    change: ({ columns, constraints }) => {
      columns.push({ name: "ok", type: "boolean", notNull: false, added: true });
      const base = { columns: ["ok"], validated: true };
      constraints.push({
        name: "notes_ok_key",
        type: "unique",
        definition: 'UNIQUE ("ok")',
        ...base,
      });
      constraints.push({
        name: "notes_ok_check",
        type: "check",
        definition: "CHECK (ok)",
        ...base,
      });
    },
  },
  {
    alter: `ADD parent int CONSTRAINT up REFERENCES notes ON DELETE SET NULL`,
    change: ({ columns, constraints }) => {
      columns.push({ name: "parent", type: "integer", notNull: false, added: true });
      constraints.push({
        name: "up",
        type: "foreign_key",
        columns: ["parent"],
        definition: 'FOREIGN KEY ("parent") REFERENCES "notes" ON DELETE SET NULL',
        validated: true,
        references: { schema: undefined, table: "notes", columns: [] },
      });
    },
  },
  {
    alter: "DROP COLUMN author",
    change: (notes) => {
      notes.columns.splice(1, 1);
      notes.constraints = [notes.constraints[0]];
      notes.indexes = [];
      notes.grants = [];
    },
  },
  { alter: "DROP IF EXISTS nothing, DROP CONSTRAINT IF EXISTS nothing", change: () => {} },
  {
    alter: `DROP CONSTRAINT notes_pkey, ADD PRIMARY KEY (author, "Title")`,
    change: ({ columns, constraints }) => {
      columns[1].notNull = true;
      constraints.shift();
      constraints.push({
        name: "notes_pkey",
        type: "primary_key",
        columns: ["author", "Title"],
        definition: 'PRIMARY KEY (author, "Title")',
        validated: true,
      });
    },
  },
  {
    alter: "ADD CONSTRAINT one UNIQUE USING INDEX notes_unique",
    change: ({ constraints, indexes }) => {
      indexes.pop();
      constraints.push({
        name: "one",
        type: "unique",
        columns: ["author", "Title"],
        definition: 'UNIQUE (author, "Title")',
        validated: true,
      });
    },
  },
  {
    alter: "ADD CHECK (author < 9) NOT VALID",
    change: ({ constraints }) =>
      constraints.push({
        name: "notes_author_check",
        type: "check",
        columns: ["author"],
        definition: "CHECK (author < 9)",
        validated: false,
      }),
  },
  {
    alter: "VALIDATE CONSTRAINT notes_check",
    change: ({ constraints }) => constraints[2].validated = true,
  },
  {
    alter: "RENAME CONSTRAINT notes_check TO odd",
    change: ({ constraints }) => constraints[2].name = "odd",
  },
  {
    alter: `RENAME author TO "By"; ALTER TABLE notes ALTER "By" TYPE text USING "By"::text`,
    change: ({ columns, constraints, indexes, grants }) => {
      Object.assign(columns[1], {
        name: "By",
        source: "author",
        type: "text",
        using: '"author"::text',
      });
      Object.assign(constraints[1], {
        columns: ["By"],
        definition: 'FOREIGN KEY ("By") REFERENCES "public"."authors" ("id") ON DELETE CASCADE',
      });
      Object.assign(constraints[2], {
        columns: ["By", "Title"],
        definition: `CHECK (("By" > 0) OR ("Title" <> 'author'::text))`,
      });
      Object.assign(indexes[0], {
        columns: ["By"],
        keys: ["By"],
        definition: 'USING btree ("By")',
      });
      Object.assign(indexes[1], {
        columns: ["By", "Title"],
        keys: ["By", "Title"],
        definition: 'USING btree ("By", "Title")',
      });
      grants![0].column = "By";
    },
  },
];

Deno.test("applyAlterToSchema() gives the table after each action and leaves the one before as it was", () => {
  for (const { alter, change } of CASES) {
    const before = makeNotes();
    const after = applyAlterToSchema(before, `ALTER TABLE IF EXISTS ONLY "public".notes ${alter};`);
    const expected = makeNotes();
    change(expected);
    assertEquals(after, expected, alter);
    assertEquals(before, makeNotes(), alter);
  }
});

Deno.test("applyAlterToSchema() cuts names to the 63 bytes that the catalog keeps", () => {
  const [long, cut] = ["é".repeat(40), "é".repeat(31)];
  const added = applyAlterToSchema(
    makeNotes(),
    `ALTER TABLE notes ADD "${long}" bigint GENERATED ALWAYS AS IDENTITY (CACHE 1)`,
  );
  assertEquals(added.columns.at(-1)!.name, cut);
  const renamed = applyAlterToSchema(makeNotes(), `ALTER TABLE notes RENAME author TO "${long}"`);
  assertEquals(renamed.columns[1].name, cut);
});

const REFUSED: [statement: string, says: RegExp][] = [
  ["", /no statement/],
  ["CREATE INDEX i ON notes (id)", /CREATE INDEX is not an ALTER TABLE/],
  ["ALTER TABLE other ALTER a TYPE int", /for table "other"/],
  [`ALTER TABLE "Notes" ALTER a TYPE int`, /for table "Notes"/],
  [
    "ALTER TABLE notes ALTER nothing TYPE int",
    /column "nothing" does not exist; the table has id, author, Title, size/,
  ],
  ["ALTER TABLE notes ADD author int", /column "author" already exists/],
  ["ALTER TABLE notes DROP nothing", /column "nothing" does not exist/],
  ["ALTER TABLE notes DROP id", /tags references "id" \(tags_note_fkey\)/],
  [`ALTER TABLE notes DROP "Title"`, /"size" is generated from "Title"/],
  [
    "ALTER TABLE notes DROP CONSTRAINT nothing",
    /constraint "nothing" does not exist; the table has notes_pkey/,
  ],
  ["ALTER TABLE notes ADD PRIMARY KEY (author)", /already has a primary key/],
  ["ALTER TABLE notes ADD UNIQUE (nothing)", /column "nothing" does not exist/],
  [
    "ALTER TABLE notes ADD CONSTRAINT notes_author UNIQUE (author)",
    /constraint or index "notes_author" already exists/,
  ],
  ["ALTER TABLE notes ADD UNIQUE USING INDEX notes_author", /is not a unique index/],
  ["ALTER TABLE notes ALTER id DROP NOT NULL", /part of the primary key/],
  ["ALTER TABLE notes RENAME TO others", /the action RENAME TO/],
  ["ALTER TABLE notes ENABLE ROW LEVEL SECURITY", /the action ENABLE ROW/],
  ["ALTER TABLE notes ALTER size TYPE text USING 'secret'", /takes no USING/],
  [
    "ALTER TABLE notes ALTER author TYPE text USING 'a', ALTER author TYPE date USING now()",
    /changes twice/,
  ],
];

Deno.test("applyAlterToSchema() refuses what it cannot do and names it, without values", () => {
  for (const [statement, says] of REFUSED) {
    const error = assertThrows(() => applyAlterToSchema(makeNotes(), statement), RecreationError);
    assertEquals([error.code, error.reason, error.table], ["MIGRATION", "statement", "notes"]);
    assert(says.test(error.message), `${statement}: ${error.message}`);
    assert(!error.message.includes("secret"));
  }
});

const TYPES: [written: string, type: string][] = [
  ["INT", "integer"],
  ["int4[]", "integer[]"],
  ["varchar", "character varying"],
  ["VARCHAR ( 10 )", "character varying(10)"],
  ["char", "character(1)"],
  ["numeric(10)", "numeric(10,0)"],
  ["decimal ( 10 , 2 )", "numeric(10,2)"],
  ["double   precision", "double precision"],
  ["timestamptz", "timestamp with time zone"],
  ["timestamp", "timestamp without time zone"],
  ["timestamp (3)", "timestamp(3) without time zone"],
  ["timestamp(3) WITH TIME ZONE", "timestamp(3) with time zone"],
  ["time", "time without time zone"],
  ["pg_catalog.int8", "bigint"],
  ['"Mood"', '"Mood"'],
  ["app.mood", "app.mood"],
];

Deno.test("normalizeType() writes types as the catalog does", () => {
  for (const [written, type] of TYPES) {
    assertEquals(normalizeType(written), type);
    assertEquals(normalizeType(type), type);
  }
});
