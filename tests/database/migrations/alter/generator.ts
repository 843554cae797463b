import { type ColumnState, quote, type TableState } from "./catalog.ts";
import type { Random } from "../../../support/random.ts";

/** What a step is made from: the tables as PostgreSQL has them by now. */
export interface StepInput {
  readonly tables: readonly TableState[];
  readonly random: Random;
}

/** Makes one statement, or nothing where the tables give no occasion. */
export type StepMaker = (input: StepInput) => string | undefined;

/** Makes one action of an ALTER TABLE. */
type ActionMaker = (table: TableState, input: StepInput) => string | undefined;

const LONG = "a_rather_long_name_that_is_made_to_be_cut_by_the_limit_of_sixty_three";
const COLUMN_NAMES = ["a", "b", "c", "d", "Mixed Name", "order", LONG, `${LONG}_and_more`];
const TABLE_NAMES = ["t", "u", "Notes", `${LONG}_table`, "item"];
const TYPES = [
  "integer",
  "bigint",
  "smallint",
  "text",
  "varchar(20)",
  "boolean",
  "numeric(10,2)",
  "date",
];

/** A name as people write it: without quotes where that is the same. */
function write(name: string, random: Random): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) && name !== "order" && random.chance(0.6)
    ? name
    : quote(name);
}

function literal(type: string, random: Random): string {
  const number = random.below(4);
  if (/int|numeric/.test(type)) return String(number);
  if (type === "boolean") return random.pick(["true", "false"]);
  if (type === "date") return `'2026-01-0${number + 1}'`;
  return random.pick(["'x'", "''", "'1'", "'2'", "'it''s; -- no'"]);
}

function freshColumn(table: TableState, random: Random): string {
  const taken = new Set(table.columns.map(({ name }) => name));
  const free = COLUMN_NAMES.filter((name) => !taken.has(name.slice(0, 63)));
  return random.pick(free.length > 0 ? free : ["z"]);
}

function anyColumn(table: TableState, { random }: StepInput): ColumnState | undefined {
  return table.columns.length === 0 ? undefined : random.pick(table.columns);
}

function check(column: string, type: string, random: Random): string {
  if (/int|numeric/.test(type)) {
    return random.pick([`${column} >= 0`, `${column} < 100`, `${column} IS NOT NULL`]);
  }
  if (/text|char/.test(type)) {
    return random.pick([`length(${column}) < 20`, `${column} <> 'never'`]);
  }
  return `${column} IS NOT NULL OR true`;
}

/** What a foreign key may point to. */
function target(
  { tables, random }: StepInput,
  type?: string,
): { table: string; column: string; type: string } | undefined {
  const found = tables.flatMap((table) =>
    table.constraints.filter(({ type, columns }) =>
      (type === "p" || type === "u") && columns.length === 1
    )
      .map(({ columns }) => {
        const column = table.columns.find(({ name }) => name === columns[0])!;
        return { table: table.name, column: column.name, type: column.type };
      })
  ).filter((one) => type === undefined || one.type === type);
  return found.length === 0 ? undefined : random.pick(found);
}

function references(input: StepInput, type?: string): { text: string; type: string } | undefined {
  const { random } = input;
  const to = target(input, type);
  if (to === undefined) return undefined;
  const action = random.pick([
    "",
    "",
    " ON DELETE CASCADE",
    " ON DELETE SET NULL",
    " ON UPDATE CASCADE",
  ]);
  return {
    text: `REFERENCES ${write(to.table, random)} (${write(to.column, random)})${action}`,
    type: to.type,
  };
}

function identity(random: Random): string {
  const options = random.pick([
    "",
    " (CACHE 1)",
    " (START WITH 10 INCREMENT BY 2)",
    " (START WITH 100 CACHE 1)",
  ]);
  return `GENERATED ${random.pick(["ALWAYS", "BY DEFAULT"])} AS IDENTITY${options}`;
}

function constraintName(random: Random): string {
  return random.pick(["k1", "k2", "Key Three", `${LONG}_constraint`]);
}

function named(random: Random): string {
  return random.chance(0.3) ? `CONSTRAINT ${write(constraintName(random), random)} ` : "";
}

/** The clauses of a new column. */
function clauses(column: string, type: string, input: StepInput): string {
  const { random } = input;
  const parts: string[] = [];
  if (random.chance(0.45)) {
    parts.push(`DEFAULT ${random.chance(0.1) ? "NULL" : literal(type, random)}`);
  }
  if (random.chance(0.35)) parts.push(`${random.chance(0.1) ? "CONSTRAINT nn " : ""}NOT NULL`);
  else if (random.chance(0.1)) parts.push("NULL");
  if (random.chance(0.12)) parts.push(`${named(random)}UNIQUE`);
  if (random.chance(0.15)) parts.push(`${named(random)}CHECK (${check(column, type, random)})`);
  if (random.chance(0.12)) {
    const foreign = references(input, type);
    if (foreign !== undefined) parts.push(`${named(random)}${foreign.text}`);
  }
  return parts.map((part) => ` ${part}`).join("");
}

const addColumn: ActionMaker = function addColumn(table, input) {
  const { random } = input;
  const exists = random.chance(0.4) ? " IF NOT EXISTS" : "";
  const known = exists !== "" && random.chance(0.5) ? anyColumn(table, input) : undefined;
  const column = write(known?.name ?? freshColumn(table, random), random);
  const word = random.chance(0.8) || exists !== "" ? " COLUMN" : "";
  const head = `ADD${word}${exists} ${column}`;
  if (random.chance(0.08)) return `${head} bigint ${identity(random)}`;
  if (random.chance(0.05)) {
    const number = table.columns.find(({ type }) => type === "integer");
    if (number !== undefined) {
      return `${head} integer GENERATED ALWAYS AS (${quote(number.name)} + 1) STORED`;
    }
  }
  const type = random.pick(TYPES);
  if (random.chance(0.03)) return `${head} ${type} PRIMARY KEY`;
  return `${head} ${type}${clauses(column, type, input)}`;
};

const dropColumn: ActionMaker = function dropColumn(table, input) {
  const { random } = input;
  // a table without columns is nobody's
  if (table.columns.length < 2) return undefined;
  const exists = random.chance(0.3) ? "IF EXISTS " : "";
  const column = exists !== "" && random.chance(0.3) ? "missing" : anyColumn(table, input)?.name;
  return column &&
    `DROP COLUMN ${exists}${write(column, random)}${random.chance(0.3) ? " CASCADE" : ""}`;
};

function alterColumn(
  make: (column: ColumnState, input: StepInput) => string | undefined,
): ActionMaker {
  return (table, input) => {
    const column = anyColumn(table, input);
    const action = column && make(column, input);
    if (column === undefined || action === undefined) return undefined;
    return `ALTER ${input.random.chance(0.7) ? "COLUMN " : ""}${
      write(column.name, input.random)
    } ${action}`;
  };
}

const setNotNull = alterColumn(() => "SET NOT NULL");
const dropNotNull = alterColumn(() => "DROP NOT NULL");
const setDefault = alterColumn(({ type }, { random }) => `SET DEFAULT ${literal(type, random)}`);
const dropDefault = alterColumn(() => "DROP DEFAULT");
const dropIdentity = alterColumn((_, { random }) =>
  `DROP IDENTITY${random.chance(0.5) ? " IF EXISTS" : ""}`
);
const dropExpression = alterColumn(({ generated }) =>
  generated === "" ? undefined : "DROP EXPRESSION"
);
const addIdentity = alterColumn(({ type, identity: now }, { random }) =>
  /int/.test(type) && now === "" ? `ADD ${identity(random)}` : undefined
);
const setIdentity = alterColumn(({ identity: now }, { random }) =>
  now === "" ? undefined : random.pick([
    "SET GENERATED ALWAYS",
    "SET GENERATED BY DEFAULT",
    "RESTART WITH 500",
    "RESTART",
  ])
);
const changeType = alterColumn((column, { random }) => {
  const name = quote(column.name);
  const set = random.pick(["TYPE", "SET DATA TYPE"]);
  const using: Record<string, string> = {
    integer: `${name}::text::numeric::integer`,
    bigint: `${name}::text::numeric::bigint`,
    text: `${name}::text`,
    boolean: `${name} IS NOT NULL`,
  };
  if (/^(?:integer|bigint)$/.test(column.type) && random.chance(0.15)) {
    return `${set} ${column.type} USING ${name} * 2 + 1`;
  }
  const type = random.pick([
    "integer",
    "bigint",
    "text",
    "varchar(30)",
    "numeric(12,3)",
    "boolean",
  ]);
  return `${set} ${type}${
    using[type] !== undefined && random.chance(0.7) ? ` USING ${using[type]}` : ""
  }`;
});

const addCheck: ActionMaker = function addCheck(table, input) {
  const column = anyColumn(table, input);
  if (column === undefined) return undefined;
  const { random } = input;
  const notValid = random.chance(0.1) ? " NOT VALID" : "";
  return `ADD ${named(random)}CHECK (${
    check(write(column.name, random), column.type, random)
  })${notValid}`;
};

const addUnique: ActionMaker = function addUnique(table, input) {
  const column = anyColumn(table, input);
  if (column === undefined) return undefined;
  const second = input.random.chance(0.2) ? anyColumn(table, input) : undefined;
  const names = second === undefined || second === column ? [column] : [column, second];
  const nulls = input.random.chance(0.1) ? " NULLS NOT DISTINCT" : "";
  return `ADD ${named(input.random)}UNIQUE${nulls} (${
    names.map(({ name }) => write(name, input.random)).join(", ")
  })`;
};

const addForeignKey: ActionMaker = function addForeignKey(table, input) {
  const column = anyColumn(table, input);
  const to = column && references(input, column.type);
  return to &&
    `ADD ${named(input.random)}FOREIGN KEY (${write(column.name, input.random)}) ${to.text}`;
};

const addPrimaryKey: ActionMaker = function addPrimaryKey(table, input) {
  const column = anyColumn(table, input);
  if (column === undefined) return undefined;
  const second = input.random.chance(0.3) ? anyColumn(table, input) : undefined;
  const names = second === undefined || second === column ? [column] : [column, second];
  return `ADD ${named(input.random)}PRIMARY KEY (${
    names.map(({ name }) => write(name, input.random)).join(", ")
  })`;
};

/** A foreign key of several columns to the same columns' key of another table, or of the own one. */
const addWideForeignKey: ActionMaker = function addWideForeignKey(table, { tables, random }) {
  const keys = tables.flatMap((parent) =>
    parent.constraints.filter(({ type, columns }) =>
      (type === "p" || type === "u") && columns.length > 1
    )
      .map(({ columns }) => ({ parent: parent.name, columns }))
  );
  if (keys.length === 0 || table.columns.length < 2) return undefined;
  const { parent, columns } = random.pick(keys);
  const own = columns.map(() => quote(random.pick(table.columns).name));
  return `ADD ${named(random)}FOREIGN KEY (${own.join(", ")}) REFERENCES ${quote(parent)} (${
    columns.map(quote).join(", ")
  })`;
};

const dropConstraint: ActionMaker = function dropConstraint(table, { random }) {
  const exists = random.chance(0.3) ? "IF EXISTS " : "";
  if (exists !== "" && random.chance(0.2)) return `DROP CONSTRAINT ${exists}missing`;
  if (table.constraints.length === 0) return undefined;
  const { name } = random.pick(table.constraints);
  return `DROP CONSTRAINT ${exists}${write(name, random)}${random.chance(0.3) ? " CASCADE" : ""}`;
};

const validate: ActionMaker = function validate(table, { random }) {
  const found = table.constraints.filter(({ validated, type }) =>
    !validated || (type === "c" && random.chance(0.1))
  );
  return found.length === 0
    ? undefined
    : `VALIDATE CONSTRAINT ${write(random.pick(found).name, random)}`;
};

/** Actions by how often they come. */
const ACTIONS: readonly ActionMaker[] = [
  ...[
    addColumn,
    addColumn,
    addColumn,
    addColumn,
    dropColumn,
    setNotNull,
    setNotNull,
    dropNotNull,
    dropNotNull,
  ],
  ...[
    setDefault,
    dropDefault,
    addCheck,
    addUnique,
    addForeignKey,
    dropConstraint,
    dropConstraint,
    changeType,
  ],
  ...[
    addPrimaryKey,
    dropIdentity,
    addIdentity,
    setIdentity,
    validate,
    dropExpression,
    addWideForeignKey,
  ],
];

function head(table: string, random: Random): string {
  return `ALTER TABLE ${random.chance(0.2) ? "IF EXISTS " : ""}${
    random.chance(0.1) ? "ONLY " : ""
  }${write(table, random)}`;
}

/** One ALTER TABLE with one action or several. */
const alterTable: StepMaker = function alterTable(input) {
  const { tables, random } = input;
  if (tables.length === 0) return undefined;
  const table = random.pick(tables);
  const count = random.chance(0.25) ? 2 + random.below(2) : 1;
  const actions = Array.from({ length: count }, () => random.pick(ACTIONS)(table, input)).filter(
    Boolean,
  );
  return actions.length === 0 ? undefined : `${head(table.name, random)} ${actions.join(", ")}`;
};

/** SET NOT NULL and DROP NOT NULL of one column, again and again. */
const toggleNotNull: StepMaker = function toggleNotNull(input) {
  const { tables, random } = input;
  if (tables.length === 0) return undefined;
  const table = tables[0];
  const column = table.columns[0];
  if (column === undefined) return undefined;
  return `${head(table.name, random)} ALTER ${write(column.name, random)} ${
    random.pick(["SET", "DROP"])
  } NOT NULL`;
};

/** Every form of ALTER … IF EXISTS about something that is not there. */
const alterMissing: StepMaker = function alterMissing(input) {
  const { random } = input;
  const table: TableState = {
    name: "missing",
    columns: [{
      name: "a",
      type: "integer",
      notNull: false,
      default: null,
      identity: "d",
      generated: "",
    }],
    constraints: [{ name: "k1", type: "c", definition: "", columns: ["a"], validated: false }],
    indexes: [],
  };
  const action = random.pick(ACTIONS)(table, input);
  const others = [
    "ALTER TABLE IF EXISTS missing RENAME TO found",
    "ALTER TABLE IF EXISTS missing RENAME COLUMN a TO b",
    "ALTER TABLE IF EXISTS missing RENAME CONSTRAINT a TO b",
    "ALTER TABLE IF EXISTS missing SET SCHEMA public",
    "ALTER TABLE IF EXISTS missing OWNER TO CURRENT_USER",
    "ALTER INDEX IF EXISTS missing RENAME TO found",
    "ALTER INDEX IF EXISTS missing SET (fillfactor = 70)",
    "ALTER SEQUENCE IF EXISTS missing RESTART WITH 5",
    "ALTER SEQUENCE IF EXISTS missing RENAME TO found",
    "ALTER SEQUENCE IF EXISTS missing OWNED BY NONE",
    "ALTER VIEW IF EXISTS missing RENAME TO found",
    "ALTER VIEW IF EXISTS missing SET SCHEMA public",
    "ALTER VIEW IF EXISTS missing ALTER COLUMN a SET DEFAULT 1",
    "DROP TABLE IF EXISTS missing CASCADE",
    "DROP INDEX IF EXISTS missing",
  ];
  if (action === undefined || random.chance(0.3)) return random.pick(others);
  return `ALTER TABLE IF EXISTS ${random.chance(0.2) ? "ONLY " : ""}missing ${action}`;
};

const rename: StepMaker = function rename(input) {
  const { tables, random } = input;
  if (tables.length === 0) return undefined;
  const table = random.pick(tables);
  const column = anyColumn(table, input);
  if (random.chance(0.3)) {
    return `${head(table.name, random)} RENAME TO ${write(random.pick(TABLE_NAMES), random)}`;
  }
  if (table.constraints.length > 0 && random.chance(0.3)) {
    const { name } = random.pick(table.constraints);
    return `${head(table.name, random)} RENAME CONSTRAINT ${write(name, random)} TO ${
      write(constraintName(random), random)
    }`;
  }
  return column &&
    `${head(table.name, random)} RENAME ${random.pick(["COLUMN ", ""])}${
      write(column.name, random)
    } TO ${write(freshColumn(table, random), random)}`;
};

const createTable: StepMaker = function createTable(input) {
  const { tables, random } = input;
  const free = TABLE_NAMES.filter((name) =>
    !tables.some((table) => table.name === name.slice(0, 63))
  );
  if (free.length === 0) return undefined;
  const empty: TableState = { name: "", columns: [], constraints: [], indexes: [] };
  const elements = [
    random.pick([
      "id integer PRIMARY KEY",
      "id bigint PRIMARY KEY",
      "id text",
      "id integer NOT NULL",
    ]),
  ];
  if (random.chance(0.2)) elements[0] = `id bigint ${identity(random)} PRIMARY KEY`;
  const names = [...COLUMN_NAMES];
  for (let i = random.below(4); i > 0; i--) {
    const name = names.splice(random.below(names.length - 1), 1)[0];
    const type = random.pick(TYPES);
    elements.push(
      `${write(name, random)} ${type}${
        clauses(quote(name), type, { ...input, tables: [...tables, empty] })
      }`,
    );
  }
  return `CREATE TABLE ${write(random.pick(free), random)} (${elements.join(", ")})`;
};

const insertRow: StepMaker = function insertRow({ tables, random }) {
  if (tables.length === 0) return undefined;
  const table = random.pick(tables);
  const columns = table.columns.filter(({ identity, generated }) =>
    generated === "" && identity !== "a" && random.chance(0.8)
  );
  if (columns.length === 0) return undefined;
  const values = columns.map(({ type }) => random.chance(0.15) ? "NULL" : literal(type, random));
  const names = columns.map(({ name }) => quote(name)).join(", ");
  return `INSERT INTO ${quote(table.name)} (${names}) VALUES (${values.join(", ")})`;
};

const changeRows: StepMaker = function changeRows(input) {
  const { tables, random } = input;
  if (tables.length === 0) return undefined;
  const table = random.pick(tables);
  const column = anyColumn(table, input);
  if (column === undefined || column.generated !== "" || column.identity !== "") return undefined;
  if (random.chance(0.2)) {
    return `DELETE FROM ${quote(table.name)} WHERE ${quote(column.name)} = ${
      literal(column.type, random)
    }`;
  }
  const value = random.chance(0.3) ? "NULL" : literal(column.type, random);
  return `UPDATE ${quote(table.name)} SET ${quote(column.name)} = ${value} WHERE ${
    quote(column.name)
  } IS NULL`;
};

const dropTable: StepMaker = function dropTable({ tables, random }) {
  if (tables.length < 2 || random.chance(0.6)) return undefined;
  return `DROP TABLE ${quote(random.pick(tables).name)} CASCADE`;
};

const index: StepMaker = function index(input) {
  const { tables, random } = input;
  if (tables.length === 0) return undefined;
  const table = random.pick(tables);
  const column = anyColumn(table, input);
  const name = random.pick(["i1", "i2", "I Three"]);
  if (table.indexes.length > 0 && random.chance(0.4)) {
    return `DROP INDEX ${quote(random.pick(table.indexes).name)}`;
  }
  const unique = random.chance(0.3) ? "UNIQUE " : "";
  return column &&
    `CREATE ${unique}INDEX ${quote(name)} ON ${quote(table.name)} (${quote(column.name)})`;
};

/** A block that ignores what exists already, as drizzle-kit writes it. */
const guarded: StepMaker = function guarded(input) {
  const { tables, random } = input;
  if (tables.length === 0) return undefined;
  const table = random.pick(tables);
  const action = random.pick([addColumn, addCheck, addForeignKey, addUnique])(table, input);
  if (action === undefined) return undefined;
  const condition = random.pick([
    "duplicate_object",
    "duplicate_column",
    "duplicate_table",
    "duplicate_object OR duplicate_column",
  ]);
  const statement = `ALTER TABLE ${quote(table.name)} ${action}`;
  return `DO $block$ BEGIN\n ${statement};\nEXCEPTION\n WHEN ${condition} THEN null;\nEND $block$`;
};

/** Statements by how often they come. Enum changes are added here. */
export const STEPS: readonly StepMaker[] = [
  ...[
    alterTable,
    alterTable,
    alterTable,
    alterTable,
    alterTable,
    alterTable,
    alterTable,
    alterTable,
    toggleNotNull,
  ],
  ...[
    alterMissing,
    rename,
    rename,
    insertRow,
    insertRow,
    changeRows,
    createTable,
    dropTable,
    index,
    guarded,
  ],
];

/** The statements that a sequence begins with. */
export const FIRST_STEPS: readonly StepMaker[] = [
  createTable,
  createTable,
  insertRow,
  insertRow,
  insertRow,
  insertRow,
];

/** A statement that changes a table's shape. */
export function isChange(statement: string): boolean {
  return /^(?:ALTER|DO)\b/.test(statement);
}
