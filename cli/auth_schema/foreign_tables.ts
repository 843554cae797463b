import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { loadEsbuild } from "../sources/load_esbuild.ts";
import { toBuildError } from "../sources/build_error.ts";
import { findSources } from "../sources/find_sources.ts";
import {
  type AnyNode,
  getMemberName,
  getText,
  listDeclared,
  parseSyntax,
} from "../sources/syntax.ts";
import { snakeCase } from "../discovery/snake_case.ts";
import { AUTH_COLUMNS, type AuthTable, pluralize } from "./auth_table.ts";
import type { AuthFacts } from "./read_auth_config.ts";

/** Tables that other files of the project define. */
export interface ForeignTables {
  /** Their names. */
  readonly tables: ReadonlySet<string>;
  /** The columns that they lack. */
  readonly findings: readonly string[];
}

/**
 * Finds the tables in `AuthConfig.schema` that the generated file does not define. The project
 * maintains them and their migrations itself.
 *
 * @param tables The tables that the configuration needs.
 * @param given The tables in `AuthConfig.schema`.
 * @returns The tables, and what they lack.
 */
export function findForeignTables(
  tables: readonly AuthTable[],
  given: AuthFacts["given"],
): ForeignTables {
  const foreign = tables.filter(({ model }) => given[model]?.isGenerated === false);
  return {
    tables: new Set(foreign.map(({ name }) => name)),
    findings: foreign.flatMap((table) => {
      const { properties } = given[table.model];
      const missing = table.columns.filter(({ property }) => !properties.includes(property));
      return missing.length === 0 ? [] : [
        `AuthConfig.schema.${table.model} is a table of yours, ${table.name}, and lacks ${
          missing.map(({ property, code }) => `${property}: ${code}`).join(", ")
        }: add ${missing.length === 1 ? "it" : "them"}, with a migration`,
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
 * @param given The tables in `AuthConfig.schema`.
 * @returns What to do, with the line to write; `undefined` if there are none.
 */
export async function describeUnnamedTables(
  root: string,
  file: string,
  tables: readonly AuthTable[],
  given: AuthFacts["given"],
): Promise<string | undefined> {
  const needed = tables.filter(({ model }) => given[model] === undefined);
  if (needed.length === 0) return undefined;
  const own = await listOwnTables(root, file);
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
    Object.keys(given).length === 0
      ? `Write in AuthConfig: schema: ${line},`
      : `Add to AuthConfig.schema: ${line}`
  }`;
}

async function listOwnTables(root: string, file: string): Promise<OwnTable[]> {
  const { transform } = await loadEsbuild("trellis generate auth-schema");
  const found: OwnTable[] = [];
  for (const path of findSources(root, root, /drizzle-orm\/pg-core/)) {
    if (resolve(root, path) === file) continue;
    const text = readFileSync(resolve(root, path), "utf8");
    const { code } = await transform(text, {
      sourcefile: path,
      loader: path.endsWith("x") ? "tsx" : "ts",
      logLevel: "silent",
    }).catch((error) => {
      throw toBuildError(path, error);
    });
    found.push(
      ...readTables(code).map(({ name, ...table }) => ({
        ...table,
        names: [table.constant, name],
        location: `${path}:${findLine(text, table.constant)}`,
      })),
    );
  }
  return found;
}

interface ReadTable extends Pick<OwnTable, "constant" | "properties"> {
  readonly name: string;
}

/** Reads `const users = pgTable("users", { … })`, with any function: projects have creators of tables. */
function readTables(code: string): ReadTable[] {
  const declared = listDeclared(parseSyntax(code).program);
  const constants = new Map(declared.map(({ name, value }) => [name, value]));
  return [...constants].flatMap(([constant, init]) => {
    if (init?.type !== "CallExpression") return [];
    const [first, columns] = init.arguments;
    const name = getText(first);
    const isTable = columns !== undefined &&
      /table/i.test(code.slice(init.callee.start, init.callee.end));
    if (name === undefined || !isTable) return [];
    const keys = listKeys(columns, constants);
    return [{ constant, name, properties: keys && new Set(keys) }];
  });
}

/** Lists the keys of an object; `undefined` if a part is not in the file. */
function listKeys(
  node: AnyNode,
  constants: ReadonlyMap<string, AnyNode | undefined>,
): string[] | undefined {
  if (node.type === "SpreadElement") return listKeys(node.argument, constants);
  if (node.type === "Identifier") {
    if (Object.hasOwn(AUTH_COLUMNS, node.name)) return Object.keys(AUTH_COLUMNS[node.name]);
    const known = constants.get(node.name);
    return known === undefined ? undefined : listKeys(known, constants);
  }
  // (t) => ({ id: t.uuid() })
  if (node.type === "ArrowFunctionExpression" && node.body.type !== "BlockStatement") {
    return listKeys(node.body, constants);
  }
  if (node.type !== "ObjectExpression") return undefined;
  const keys = node.properties.map((property) => {
    if (property.type === "SpreadElement") return listKeys(property, constants);
    const name = property.computed ? undefined : getMemberName(property);
    return name === undefined ? undefined : [name];
  });
  return keys.every((each) => each !== undefined) ? keys.flat() : undefined;
}

function findLine(text: string, constant: string): number {
  const at = new RegExp(String.raw`\b(?:const|let|var)\s+${constant}\b`).exec(text)?.index ?? 0;
  return text.slice(0, at).split("\n").length;
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
