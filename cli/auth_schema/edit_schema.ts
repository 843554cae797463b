import { getTableColumns, getTableName, is, Table } from "drizzle-orm";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { loadEsbuild } from "../sources/load_esbuild.ts";
import { toBuildError } from "../sources/build_error.ts";
import { LOCAL_BUILD, localResolver } from "../sources/local_bundle.ts";
import { importBundle } from "../sources/import_bundle.ts";
import { toPortablePath } from "../files/inside_folder.ts";
import type { AuthColumn, AuthIndex, AuthTable } from "./auth_table.ts";
import { isSameType } from "./plan_migration.ts";
import {
  listImports,
  renderColumn,
  renderEntry,
  renderImport,
  renderIndex,
  renderMapping,
  renderTable,
} from "./render_tables.ts";

/** The changes of a file with tables. */
export interface SchemaEdit {
  /** The new text. */
  readonly text: string;
  /** Added tables and columns: `members`, `users.role`. */
  readonly added: readonly string[];
  /** Differences that the edit does not resolve. */
  readonly findings: readonly string[];
  /** Tables and columns that no option or plugin needs. They are kept. */
  readonly kept: readonly string[];
}

/** What a table of the file lacks. */
interface Need {
  readonly table: AuthTable;
  readonly isNew: boolean;
  readonly columns: readonly AuthColumn[];
  readonly indexes: readonly AuthIndex[];
}

/**
 * Adds missing tables and columns to a file. Everything else in the file stays. The file is loaded
 * before and after: a text in which the additions have no effect is not written.
 *
 * @param file Absolute path of the file.
 * @returns The new text; a finding with the code to add, if the file cannot be changed.
 * @throws {ConfigurationError} If the file cannot be loaded.
 */
export async function editSchemaFile(
  root: string,
  file: string,
  tables: readonly AuthTable[],
): Promise<SchemaEdit> {
  const text = readFileSync(file, "utf8");
  const present = await loadTables(root, file, text);
  const needs = tables.map((table) => describeNeed(table, present.tables.get(table.name)));
  const missing = needs.filter(({ columns }) => columns.length > 0);
  const models = tables.filter(({ model }) =>
    present.mapping === undefined || !Object.hasOwn(present.mapping, model)
  );
  const findings = tables.flatMap((table) => findOtherTypes(table, present.tables.get(table.name)));
  const kept = listKept(tables, present);
  if (missing.length === 0 && models.length === 0) return { text, added: [], findings, kept };

  const edited = applyNeeds(text, missing, tables, models);
  if (edited === undefined || !await isComplete(root, file, edited, tables, present)) {
    const path = toPortablePath(root, file);
    return {
      text,
      added: [],
      kept,
      findings: [...findings, describeMissing(path, missing, models)],
    };
  }
  return {
    text: edited,
    added: missing.flatMap(({ table, isNew, columns }) =>
      isNew ? [table.name] : columns.map(({ name }) => `${table.name}.${name}`)
    ),
    findings,
    kept,
  };
}

/** The tables of a loaded file by name, and its export `authSchema`. */
interface LoadedSchema {
  readonly tables: ReadonlyMap<string, Table>;
  readonly mapping: object | undefined;
}

async function loadTables(root: string, file: string, text: string): Promise<LoadedSchema> {
  const path = toPortablePath(root, file);
  const { build } = await loadEsbuild("trellis generate auth-schema");
  try {
    const { outputFiles } = await build({
      stdin: { contents: text, resolveDir: dirname(file), sourcefile: file, loader: "ts" },
      absWorkingDir: root,
      ...LOCAL_BUILD,
      plugins: [localResolver(root, new Map())],
    }).catch((error) => {
      throw toBuildError(path, error);
    });
    const code = outputFiles[0].text;
    const { authSchema, ...exports } = await importBundle<Record<string, unknown>>(
      root,
      "auth-schema",
      code,
    );
    const isMapping = typeof authSchema === "object" && authSchema !== null;
    const values = [...Object.values(isMapping ? authSchema : {}), ...Object.values(exports)];
    const tables = values.filter((value): value is Table => is(value, Table));
    return {
      tables: new Map(tables.map((table) => [getTableName(table), table])),
      mapping: isMapping ? authSchema : undefined,
    };
  } catch (cause) {
    throw new ConfigurationError(`${path} cannot be loaded: ${(cause as Error).message}`, {
      cause,
    });
  }
}

function describeNeed(table: AuthTable, present: Table | undefined): Need {
  if (present === undefined) return { table, isNew: true, ...table };
  const declared = getTableColumns(present);
  const columns = table.columns.filter(({ property }) => !Object.hasOwn(declared, property));
  const properties = new Set(columns.map(({ property }) => property));
  const indexes = table.indexes.filter((index) =>
    index.properties.some((each) => properties.has(each))
  );
  return { table, isNew: false, columns, indexes };
}

function findOtherTypes(table: AuthTable, present: Table | undefined): string[] {
  const declared = present === undefined ? {} : getTableColumns(present);
  return table.columns.flatMap(({ property, type }) => {
    const current = Object.hasOwn(declared, property) ? declared[property].getSQLType() : undefined;
    return current === undefined || isSameType(current, type) ? [] : [
      `${table.name}.${property} is ${current} in the file, but ${
        type.split(" ")[0]
      } is needed: change it yourself`,
    ];
  });
}

function listKept(tables: readonly AuthTable[], present: LoadedSchema): string[] {
  const models = new Set(tables.map(({ model }) => model));
  return [
    ...Object.keys(present.mapping ?? {}).filter((key) => !models.has(key)).map((key) =>
      `the table under the key ${key}`
    ),
    ...tables.flatMap((table) => {
      const needed = new Set(table.columns.map(({ property }) => property));
      const found = present.tables.get(table.name);
      return Object.keys(found === undefined ? {} : getTableColumns(found))
        .filter((property) => !needed.has(property))
        .map((property) => `${table.name}.${property}`);
    }),
  ];
}

/** Checks that a text has all tables and columns that are needed, and those that were there before. */
async function isComplete(
  root: string,
  file: string,
  text: string,
  tables: readonly AuthTable[],
  before: LoadedSchema,
): Promise<boolean> {
  const after = await loadTables(root, file, text).catch(() => undefined);
  const has = (name: string, properties: readonly string[]) => {
    const table = after?.tables.get(name);
    return table !== undefined &&
      properties.every((property) => Object.hasOwn(getTableColumns(table), property));
  };
  return tables.every(({ name, columns, model }) =>
    has(name, columns.map(({ property }) => property)) &&
    Object.hasOwn(after?.mapping ?? {}, model)
  ) && [...before.tables].every(([name, table]) => has(name, Object.keys(getTableColumns(table))));
}

function describeMissing(
  path: string,
  needs: readonly Need[],
  models: readonly AuthTable[],
): string {
  const entries = models.map(renderEntry).join(", ");
  return [
    `${path} cannot be changed by the command. Add to it:`,
    ...needs.map(({ table, isNew, columns, indexes }) =>
      isNew ? renderTable(table) : [
        `to ${table.name}: ${
          columns.map(({ property, code }) => `${property}: ${code}`).join(", ")
        }`,
        ...indexes.map(renderIndex),
      ].join(", ")
    ),
    ...models.length === 0 ? [] : [`to authSchema: ${entries}`],
  ].join("\n");
}

/** Returns the changed text; `undefined` if a place for an addition is not found. */
function applyNeeds(
  text: string,
  needs: readonly Need[],
  tables: readonly AuthTable[],
  models: readonly AuthTable[],
): string | undefined {
  let edited: string | undefined = text;
  for (const need of needs) if (!need.isNew) edited = edited && addColumns(edited, need);
  if (edited === undefined) return undefined;
  const added = needs.filter(({ isNew }) => isNew).map(({ table }) => table);
  const mapping = /^(?:\/\*\*.*\*\/\r?\n)?export const authSchema = \{/m.exec(edited);
  const end = mapping?.index ?? edited.length;
  const code = added.map((table) => `${renderTable(table)}\n`).join("");
  edited = edited.slice(0, end) + code + edited.slice(end);
  if (mapping === null) edited += renderMapping(tables);
  else if (models.length > 0) {
    const [open] = splitList(edited, end + code.length + mapping[0].length - 1);
    const lines = models.map((table) => `  ${renderEntry(table)},`).join("\n");
    edited = insertAtEnd(edited, open, lines);
  }
  const columns = needs.flatMap(({ table, isNew, columns }) =>
    isNew ? columns.filter(({ property }) => !table.spreadProperties.has(property)) : columns
  );
  const indexes = needs.flatMap(({ indexes }) => indexes);
  for (const [module, names] of listImports(added, columns, indexes)) {
    if (names.size > 0) edited = addImports(edited, module, names);
  }
  return edited;
}

function addColumns(text: string, { table, columns, indexes }: Need): string | undefined {
  const call = new RegExp(String.raw`\b(?:pgTable|table)\(\s*(["'])${table.name}\1\s*,`, "g");
  const [found, other] = text.matchAll(call);
  if (found === undefined || other !== undefined) return undefined;
  const open = found.index + found[0].indexOf("(");
  const [, definition, extra] = splitList(text, open);
  let edited = text;
  if (indexes.length > 0) {
    const lines = indexes.map((index) => `  ${renderIndex(index)},`).join("\n");
    if (extra === undefined) {
      const code = `, (table) => [\n${lines}\n]`;
      edited = edited.slice(0, definition.end) + code + edited.slice(definition.end);
    } else {
      const start = /^\(?table\)? => (?=\[)/.exec(edited.slice(extra.start, extra.end))?.[0];
      if (start === undefined) return undefined;
      edited = insertAtEnd(edited, { ...extra, start: extra.start + start.length }, lines);
    }
  }
  // a required column is empty in rows that exist, see planMigration
  const lines = columns.map((column) =>
    renderColumn(
      column.default === undefined && column.isRequired
        ? { ...column, code: column.code.replace(".notNull()", "") }
        : column,
    )
  ).join("\n");
  const given = text.slice(definition.start, definition.end);
  if (/^\w+$/.test(given)) {
    const code = `{\n  ...${given},\n${lines}\n}`;
    return edited.slice(0, definition.start) + code + edited.slice(definition.end);
  }
  return given.startsWith("{") ? insertAtEnd(edited, definition, lines) : undefined;
}

/** A part of a text, without white space around it. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** Inserts lines before the closing bracket of an object or array. */
function insertAtEnd(text: string, { start, end }: Span, lines: string): string {
  const inner = text.slice(start + 1, end - 1).trimEnd();
  const comma = inner === "" || inner.endsWith(",") ? "" : ",";
  return `${text.slice(0, start + 1)}${inner}${comma}\n${lines}\n${text.slice(end - 1)}`;
}

/**
 * Texts and comments, in which brackets and commas mean nothing, and the signs that do. What has no end
 * is taken to the end, so that the search does not begin again in it.
 */
const SIGNS =
  /"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|`(?:[^`\\]|\\[\s\S])*`?|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|[()[\]{},]/g;

/**
 * Splits a list in brackets at its commas. The text is not parsed: what comes of a wrong split is
 * found when the result is loaded.
 *
 * @param open Position of the opening bracket.
 * @returns The entries; of a list in braces its whole text.
 */
function splitList(text: string, open: number): Span[] {
  const isWhole = text[open] === "{";
  const entries: Span[] = [];
  let depth = 0;
  let start = open + 1;
  const add = (end: number) => {
    const entry = text.slice(start, end);
    const from = start + entry.length - entry.trimStart().length;
    if (entry.trim() !== "") entries.push({ start: from, end: from + entry.trim().length });
    start = end + 1;
  };
  for (const { 0: sign, index } of text.slice(open).matchAll(SIGNS)) {
    const at = open + index;
    if (/^[([{]$/.test(sign)) depth++;
    else if (/^[)\]}]$/.test(sign) && --depth === 0) {
      if (isWhole) return [{ start: open, end: at + 1 }];
      add(at);
      return entries;
    } else if (sign === "," && depth === 1) add(at);
  }
  return [];
}

function addImports(text: string, module: string, names: ReadonlySet<string>): string {
  const statement = new RegExp(
    String.raw`^import \{([^{}]*)\} from (["'])${module}\2;?`,
    "m",
  ).exec(text);
  if (statement === null) {
    const last = [...text.matchAll(/^import .*;\r?\n|^\} from .*;\r?\n/gm)].at(-1);
    const at = last === undefined ? 0 : last.index + last[0].length;
    return `${text.slice(0, at)}${renderImport(module, names)}\n${text.slice(at)}`;
  }
  const present = statement[1].split(",").map((name) => name.trim()).filter((name) => name !== "");
  if ([...names].every((name) => present.includes(name))) return text;
  const { index } = statement;
  return text.slice(0, index) + renderImport(module, [...present, ...names]) +
    text.slice(index + statement[0].length);
}
