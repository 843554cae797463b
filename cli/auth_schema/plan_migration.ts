import { type DeclaredTable, findObject } from "../../distsql/schema/declared_schema.ts";
import { readDeclaredSchema } from "../../distsql/schema/fold_statement.ts";
import { quoteName } from "../../sql/quote.ts";
import type { AuthColumn, AuthIndex, AuthTable } from "./auth_table.ts";

/** What a migration must do. */
export interface MigrationPlan {
  readonly statements: readonly string[];
  /** Differences that the migration does not resolve. */
  readonly findings: readonly string[];
}

/**
 * Compares tables with those that migrations create.
 *
 * @param sources The SQL of the migrations, in order.
 * @returns The missing statements, and the differences that need a decision.
 */
export function planMigration(
  tables: readonly AuthTable[],
  sources: readonly string[],
): MigrationPlan {
  const declared = readDeclaredSchema(sources);
  const plans = tables.map((table) => {
    const current = findObject(declared.tables, { name: table.name });
    if (current === undefined) return { statements: createTable(table), findings: [] };
    return current.isComplete ? alterTable(table, current) : {
      statements: [],
      findings: [
        `${table.name}: the migrations create it in a way that hides its columns (AS, LIKE, INHERITS): compare it yourself`,
      ],
    };
  });
  return {
    statements: plans.flatMap(({ statements }) => statements),
    findings: plans.flatMap(({ findings }) => findings),
  };
}

function createTable(table: AuthTable): string[] {
  const uniques = [
    ...table.columns.filter(({ isUnique }) => isUnique).map(({ name }) => toUnique(table, [name])),
    ...table.indexes.filter(({ isUnique }) => isUnique).map(({ columns }) =>
      toUnique(table, columns)
    ),
  ];
  const lines = [...table.columns.map(writeColumn), ...uniques.map(writeUnique)];
  return [
    `CREATE TABLE IF NOT EXISTS ${quoteName(table.name)} (\n${
      lines.map((line) => `  ${line}`).join(",\n")
    }\n);`,
    ...table.indexes.filter(({ isUnique }) => !isUnique).map((index) => createIndex(table, index)),
  ];
}

function writeColumn({ name, type, isRequired, default: value }: AuthColumn): string {
  const base = `${quoteName(name)} ${type}${value === undefined ? "" : ` DEFAULT ${value}`}`;
  return isRequired ? `${base} NOT NULL` : base;
}

interface Unique {
  readonly name: string;
  readonly columns: readonly string[];
}

/** The name that drizzle gives a unique constraint. */
function toUnique(table: AuthTable, columns: readonly string[]): Unique {
  return { name: `${table.name}_${columns.join("_")}_unique`.slice(0, 63), columns };
}

function writeUnique({ name, columns }: Unique): string {
  return `CONSTRAINT ${quoteName(name)} UNIQUE(${
    columns.map((each) => quoteName(each)).join(",")
  })`;
}

function createIndex(table: AuthTable, { name, columns }: AuthIndex): string {
  return `CREATE INDEX IF NOT EXISTS ${quoteName(name)} ON ${quoteName(table.name)} (${
    columns.map((each) => quoteName(each)).join(",")
  });`;
}

function alterTable(table: AuthTable, current: DeclaredTable): MigrationPlan {
  const present = new Map(current.columns.map((column) => [column.name, column]));
  const missing = table.columns.filter(({ name }) => !present.has(name));
  const added = new Set(missing.map(({ name }) => name));
  const findings = table.columns.flatMap((column) => {
    const existing = present.get(column.name);
    return existing === undefined || isSameType(existing.type, column.type) ? [] : [
      `${table.name}.${column.name} is ${existing.type} in the migrations, but ${
        column.type.split(" ")[0]
      } is needed: change it in a migration of yours`,
    ];
  });
  const touches = ({ columns }: AuthIndex) => columns.some((name) => added.has(name));
  return {
    statements: [
      ...missing.map((column) => addColumn(table, column)),
      ...missing.filter(({ isUnique }) => isUnique).map(({ name }) =>
        addUnique(table, toUnique(table, [name]))
      ),
      ...table.indexes.filter(touches).map((index) =>
        index.isUnique
          ? addUnique(table, toUnique(table, index.columns))
          : createIndex(table, index)
      ),
    ],
    findings,
  };
}

function addColumn(table: AuthTable, column: AuthColumn): string {
  // rows that exist have no value for a required column without a default
  const isRequired = column.isRequired && column.default !== undefined;
  return `ALTER TABLE ${quoteName(table.name)} ADD COLUMN ${
    writeColumn({ ...column, isRequired })
  };`;
}

function addUnique(table: AuthTable, unique: Unique): string {
  return `ALTER TABLE ${quoteName(table.name)} ADD ${writeUnique(unique)};`;
}

/** Types that store the same values for better-auth. */
const KINDS: readonly (readonly string[])[] = [
  ["text", "varchar", "character", "char", "bpchar", "uuid", "citext"],
  [
    "bigint",
    "int8",
    "integer",
    "int",
    "int4",
    "smallint",
    "int2",
    "bigserial",
    "serial",
    "numeric",
  ],
  ["boolean", "bool"],
  ["timestamp", "timestamptz"],
  ["json", "jsonb"],
];

/** Returns whether columns of two types of SQL store the same values for better-auth. */
export function isSameType(one: string, other: string): boolean {
  const first = (type: string) => type.toLowerCase().split(/[\s(]/)[0];
  const kind = KINDS.find((types) => types.includes(first(one)));
  return kind === undefined ? first(one) === first(other) : kind.includes(first(other));
}
