import { getTableColumns, getTableName, is, Table } from "drizzle-orm";
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { PACKAGE_TABLES } from "../analysis/auth_tables.ts";
import { createEvaluator } from "../analysis/evaluate.ts";
import { Project } from "../analysis/project.ts";
import { readTableColumns } from "../analysis/table_columns.ts";
import { ts } from "../analysis/typescript.ts";
import { toPortablePath } from "../inside_folder.ts";
import { findSources } from "../load_modules.ts";
import { snakeCase } from "../snake_case.ts";
import { type AuthTable, pluralize } from "./auth_table.ts";

/** Tables that other files of the project define. */
export interface ForeignTables {
  /** Their names. */
  readonly tables: ReadonlySet<string>;
  /** The columns that they lack. */
  readonly findings: readonly string[];
}

/**
 * Finds the tables in `AuthConfig.schema` that are not defined in the generated file. The project
 * maintains them and their migrations itself.
 *
 * @param file Absolute path of the generated file, which may be missing.
 * @returns The tables, and what they lack.
 */
export function findForeignTables(
  root: string,
  file: string,
  tables: readonly AuthTable[],
  schema: Readonly<Record<string, unknown>>,
): ForeignTables {
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  const foreign = tables.filter(({ model, name }) =>
    is(schema[model], Table) && !text.includes(`"${name}"`) && !text.includes(`'${name}'`)
  );
  const path = toPortablePath(root, file);
  return {
    tables: new Set(foreign.map(({ name }) => name)),
    findings: foreign.flatMap((table) => {
      const given = schema[table.model] as Table;
      const present = getTableColumns(given);
      const missing = table.columns.filter(({ property }) => !Object.hasOwn(present, property));
      return missing.length === 0 ? [] : [
        `${getTableName(given)} is not defined in ${path} and lacks ${
          missing.map(({ property, code }) => `${property}: ${code}`).join(", ")
        }: add ${missing.length === 1 ? "it" : "them"} there, with a migration`,
      ];
    }),
  };
}

/** A table of the project that stores a model of better-auth. */
interface OwnTable {
  readonly constant: string;
  /** `src/db/schema.ts:12`. */
  readonly location: string;
  readonly names: readonly string[];
  /** Properties; `undefined` if they cannot all be determined. */
  readonly properties: ReadonlySet<string> | undefined;
}

/**
 * Finds drizzle tables of better-auth that the project defines and `AuthConfig.schema` does not name.
 * Another set of tables beside them would hold no users. The sources are read and not run.
 *
 * @param file Absolute path of the generated file, whose tables are not searched.
 * @param tables The tables that the configuration needs.
 * @returns What to do, with the line to write; `undefined` if there are none.
 */
export function describeUnnamedTables(
  root: string,
  file: string,
  tables: readonly AuthTable[],
  schema: Readonly<Record<string, unknown>> = {},
): string | undefined {
  const needed = tables.filter(({ model }) => !is(schema[model], Table));
  if (needed.length === 0) return undefined;
  const own = listOwnTables(root, file);
  const found = needed.flatMap((table) => {
    const match = own.find((each) => storesModel(each, table));
    return match === undefined ? [] : [{ model: table.model, ...match }];
  });
  if (found.length === 0) return undefined;
  const entries = found.map(({ model, constant }) =>
    model === constant ? model : `${model}: ${constant}`
  );
  const line = `{ ${entries.join(", ")} }`;
  return `AuthConfig.schema does not name tables of better-auth that the project has, so other tables would be used: ${
    found.map(({ model, location }) => `${model} at ${location}`).join(", ")
  }. ${
    Object.keys(schema).length === 0
      ? `Write in AuthConfig: schema: ${line},`
      : `Add to AuthConfig.schema: ${line}`
  }`;
}

function listOwnTables(root: string, file: string): OwnTable[] {
  const project = new Project(root);
  const evaluator = createEvaluator(project, PACKAGE_TABLES);
  const found: OwnTable[] = [];
  function visit(node: ts.Node): void {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer) {
      const value = evaluator.evaluate(node.initializer);
      const definition = value.kind === "table" ? value.node : undefined;
      if (value.kind === "table" && definition?.getSourceFile() === node.getSourceFile()) {
        const columns = readTableColumns(evaluator, definition);
        found.push({
          constant: node.name.text,
          location: `${project.getPath(node)}:${project.getLine(node)}`,
          names: [node.name.text, value.table.name],
          properties: columns && new Set(columns.keys()),
        });
      }
    }
    ts.forEachChild(node, visit);
  }
  for (const path of findSources(root, root, /drizzle-orm\/pg-core/)) {
    const absolute = resolve(root, path);
    if (absolute !== file) visit(project.read(absolute).source);
  }
  return found;
}

/** Columns that tables of every kind have. */
const COMMON: ReadonlySet<string> = new Set(["id", "createdAt", "updatedAt"]);

/** Compares names and properties: an application can have an `accounts` table that is not better-auth's. */
function storesModel({ names, properties }: OwnTable, { model, columns }: AuthTable): boolean {
  const wanted = [model, pluralize(model)].map((name) => snakeCase(name).replaceAll("_", ""));
  const isNamed = names.some((name) => {
    // `authUsersTable` is a table of users
    const words = snakeCase(name).replace(/_tables?$/, "").split("_");
    return words.some((_, at) => wanted.includes(words.slice(at).join("")));
  });
  return isNamed &&
    (properties === undefined ||
      columns.every(({ property, isRequired }) =>
        !isRequired || COMMON.has(property) || properties.has(property)
      ));
}
