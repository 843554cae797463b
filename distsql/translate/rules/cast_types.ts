import { findObject, type ObjectName } from "../../schema/declared_schema.ts";
import { readObject } from "../../schema/read_object.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import type { StatementTranslation } from "../translation.ts";
import { isBuiltInType, isExtensionType } from "./column_type.ts";

/** Schemas whose types always exist. */
const SYSTEM_SCHEMAS: ReadonlySet<string> = new Set(["pg_catalog", "information_schema"]);

/**
 * Returns the position of the type in `CAST (value AS type)` by its opening parenthesis; else -1.
 */
export function castTypeAt(reader: StatementReader, open: number): number {
  let as = -1;
  for (let at = open + 1; at < reader.closing(open); at = reader.next(at)) {
    if (reader.is(at, "AS")) as = at;
  }
  return as < 0 ? -1 : as + 1;
}

/**
 * Checks whether the provider has a type: built in, as a domain, or as the row type of a table or
 * view.
 */
function hasType(reader: StatementReader, at: number, t: StatementTranslation): boolean {
  const written = readObject(reader, at);
  const { schema, name } = written;
  if (schema !== undefined && SYSTEM_SCHEMAS.has(schema)) return true;
  if (schema === undefined && isBuiltInType(name)) return true;
  const { domains, tables, views, enums } = t.scope.declared;
  const objects: readonly ReadonlyMap<string, ObjectName>[] = [domains, tables, views, enums];
  const isDeclared = objects.some((map) => findObject(map, written) !== undefined);
  return isDeclared || t.scope.domains.has(name) || t.scope.domains.has(`${schema}.${name}`);
}

/**
 * Rejects a cast to a type that does not exist on the provider. A type that no file declares may
 * belong to an extension or the application.
 *
 * @param reader The statement.
 * @param at Position of `::` or CAST.
 * @param t Receives the refusal.
 */
export function checkCast(reader: StatementReader, at: number, t: StatementTranslation): void {
  const typeAt = reader.key(at) === "::" ? at + 1 : castTypeAt(reader, at + 1);
  if (typeAt < 0 || !reader.isName(typeAt) || hasType(reader, typeAt, t)) return;
  const type = reader.text(typeAt, reader.nameEnd(typeAt));
  const id = isExtensionType(readObject(reader, typeAt).name)
    ? "type-extension"
    : "type-user-defined";
  t.refuse(id, `a cast to ${type}`, type);
}
