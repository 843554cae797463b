import type { AuthColumn, AuthIndex, AuthTable } from "./auth_table.ts";

/** Names that the file imports, by module. */
export type Imports = ReadonlyMap<string, ReadonlySet<string>>;

/** drizzle's module for tables. */
const PG_CORE = "drizzle-orm/pg-core";
/** Entry point with the exported columns. */
export const AUTH_SCHEMA = "@trellis/fn/auth/schema";

const HEAD =
  `// Tables of better-auth. trellis generate auth-schema adds missing tables and columns to this file and
// changes nothing else. Add columns of your own as needed.
`;

/** Renders a table definition. */
export function renderTable(table: AuthTable): string {
  const own = table.columns.filter(({ property }) => !table.spreadProperties.has(property));
  const columns = table.spread !== undefined && own.length === 0 ? ` ${table.spread}` : [
    " {",
    ...table.spread === undefined ? [] : [`  ...${table.spread},`],
    ...own.map(renderColumn),
    "}",
  ].join("\n");
  const indexes = table.indexes.map(renderIndex);
  const extra = indexes.length === 0
    ? ""
    : `, (table) => [\n${indexes.map((line) => `  ${line},`).join("\n")}\n]`;
  return `export const ${table.constant} = pgTable("${table.name}",${columns}${extra});\n`;
}

/** Renders a column as a property. */
export function renderColumn({ property, code }: AuthColumn): string {
  return `  ${property}: ${code},`;
}

/** Renders an index or a unique constraint. */
export function renderIndex({ name, properties, isUnique }: AuthIndex): string {
  const columns = properties.map((property) => `table.${property}`).join(", ");
  return `${isUnique ? "unique" : "index"}("${name}").on(${columns})`;
}

/** Lists the names that tables need. */
export function listImports(
  tables: readonly AuthTable[],
  columns: readonly AuthColumn[],
  indexes: readonly AuthIndex[],
): Imports {
  const used = new Set(columns.map(({ builder }) => builder));
  if (tables.length > 0) used.add("pgTable");
  for (const { isUnique } of indexes) used.add(isUnique ? "unique" : "index");
  const spread = tables.flatMap((table) => table.spread ?? []);
  return new Map([[AUTH_SCHEMA, new Set(spread)], [PG_CORE, used]]);
}

/** Renders an import of names. */
export function renderImport(module: string, names: Iterable<string>): string {
  const list = [...new Set(names)].sort((a, b) => a < b ? -1 : 1);
  const line = `import { ${list.join(", ")} } from "${module}";`;
  return line.length <= 100
    ? line
    : `import {\n${list.map((name) => `  ${name},`).join("\n")}\n} from "${module}";`;
}

/** Renders the object for `AuthConfig.schema`. */
export function renderMapping(tables: readonly AuthTable[]): string {
  const lines = tables.map((table) => `  ${renderEntry(table)},`);
  return `/** For AuthConfig.schema. */\nexport const authSchema = {\n${lines.join("\n")}\n};\n`;
}

/** Renders an entry of the object for `AuthConfig.schema`. */
export function renderEntry({ model, constant }: AuthTable): string {
  const key = /^[A-Za-z_][A-Za-z0-9_]*$/.test(model) ? model : JSON.stringify(model);
  return key === constant ? key : `${key}: ${constant}`;
}

/** Renders a new file with all tables. */
export function renderFile(tables: readonly AuthTable[]): string {
  const columns = tables.flatMap((table) =>
    table.columns.filter(({ property }) => !table.spreadProperties.has(property))
  );
  const imports = listImports(tables, columns, tables.flatMap(({ indexes }) => indexes));
  const lines = [...imports].filter(([, names]) => names.size > 0)
    .map(([module, names]) => renderImport(module, names));
  return [`${HEAD}${lines.join("\n")}\n`, ...tables.map(renderTable), renderMapping(tables)].join(
    "\n",
  );
}
