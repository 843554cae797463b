import { groupBy } from "../../core/lists/group_by.ts";
import { dropTrailingDigits, getImportedName, isDeferred } from "../sources/syntax.ts";
import { readFileSync } from "node:fs";
import type { LoadedFunction } from "../project/loaded_function.ts";
import type { Place } from "../sources/source_positions.ts";
import { type AnySchema, isSchema } from "./read_responses.ts";

/** A schema that a constant or an import of the project names. */
export interface NamedSchema extends Place {
  readonly schema: AnySchema;
  /** The name in the file: `Note`. */
  readonly label: string;
  /** The name under which the file exports it. */
  readonly exportedAs?: string;
}

/** Modules with their exports, by paths relative to the project. */
export type Modules = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Lists the schemas that the sources name, by file and line. */
export function listNamedSchemas(fn: LoadedFunction, modules: Modules): NamedSchema[] {
  const { declarations, program } = fn.syntax;
  const found: NamedSchema[] = [];
  for (const [local, node] of declarations) {
    if (isDeferred(node)) continue;
    const schema = fn.evaluateName(local);
    if (!isSchema(schema)) continue;
    const place = fn.getPlace(node);
    const label = findSourceName(local, place.file);
    const names = Object.entries(modules[place.file] ?? {})
      .filter(([, value]) => value === schema).map(([name]) => name);
    // esbuild names a default export after the file
    const isDefault = names.length > 0 && !local.endsWith("_default");
    const exportedAs = names.includes(label)
      ? label
      : names.filter((name) => name !== "default").sort()[0] ?? (isDefault ? label : undefined);
    found.push({ ...place, schema, label, ...exportedAs !== undefined && { exportedAs } });
  }
  for (const statement of program.body) {
    for (const each of statement.type === "ImportDeclaration" ? statement.specifiers : []) {
      if (each.type !== "ImportSpecifier") continue;
      const exportedAs = getImportedName(each);
      const schema = fn.evaluateName(each.local.name);
      if (!isSchema(schema)) continue;
      found.push({ ...fn.getPlace(each), schema, label: exportedAs, exportedAs });
    }
  }
  return found.sort((a, b) => getKey(a) < getKey(b) ? -1 : 1);
}

/**
 * Returns the name that a source has for a name of the bundle: esbuild numbers names that several
 * modules or functions have.
 *
 * @param file Relative to the project, which is the working directory.
 */
export function findSourceName(name: string, file: string): string {
  const original = dropTrailingDigits(name);
  if (original === name) return name;
  const text = readFileSync(file, "utf8");
  const has = (word: string) => new RegExp(`\\b${word.replaceAll("$", "\\$")}\\b`).test(text);
  return has(name) || !has(original) ? name : original;
}

function getKey({ file, line, label }: NamedSchema): string {
  return `${file}\0${String(line).padStart(9, "0")}\0${label}`;
}

/**
 * Names schemas after their exports. If two files export different schemas with the same name, both
 * names get the file as a prefix.
 *
 * @returns Names by schema, and names that several files use.
 */
export function nameSchemas(
  named: readonly NamedSchema[],
): { names: Map<AnySchema, string>; clashes: { name: string; places: Place[] }[] } {
  const owners = new Map<AnySchema, NamedSchema>();
  for (const each of named) {
    if (each.exportedAs !== undefined && !owners.has(each.schema)) owners.set(each.schema, each);
  }
  const byName = groupBy(owners.values(), ({ exportedAs }) => exportedAs!);
  const clashes = [...byName].filter(([, places]) => places.length > 1).map(([name, places]) => ({
    name,
    places,
  }));
  const names = new Map<AnySchema, string>();
  for (const [schema, { file, exportedAs }] of owners) {
    const isShared = byName.get(exportedAs!)!.length > 1;
    names.set(schema, isShared ? `${toPrefix(file)}.${exportedAs}` : exportedAs!);
  }
  return { names, clashes };
}

/** Converts a path to a prefix: `src/billing/schemas.ts` becomes `src.billing.schemas`. */
function toPrefix(file: string): string {
  return file.replace(/\.[^./]+$/, "").replace(/[^\w]+/g, ".").replace(/^\.|\.$/g, "");
}
