import { getName, readName } from "../../sql/sql_name.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { keywordSet } from "../../sql/list_words.ts";

/** Location of a statement. */
export interface PermissionSource {
  /** The file's name. */
  file: string;
  /** Line, from 1. */
  line: number;
}

/** Type of object that privileges are granted on. */
export type PermissionObjectType = "table" | "sequence" | "schema";

/** Object of a GRANT, or all objects of a type in a schema. */
export interface PermissionObject {
  /** Type of the object. */
  type: PermissionObjectType;
  /** Schema, if it is named; for all in a schema, that schema. */
  schema: string | undefined;
  /** Name; `undefined` for all objects in the schema. */
  name: string | undefined;
}

/** Effect of a statement in a permission file. */
export type PermissionAction =
  | { kind: "create_role"; role: string; canLogin: boolean }
  | {
    kind: "grant" | "revoke";
    /** Privileges in upper case; `ALL` for all. `columns` is empty for the whole object. */
    privileges: { name: string; columns: string[] }[];
    objects: PermissionObject[];
    /** Roles; `null` for PUBLIC. */
    roles: (string | null)[];
    grantable: boolean;
  }
  | { kind: "iam_grant" | "iam_revoke"; role: string; arn: string }
  /** Any other statement: run unchanged and not compared. */
  | { kind: "other" };

/** Statement of a permission file. */
export interface PermissionStatement {
  /** Location of the statement. */
  source: PermissionSource;
  /** Statement with its variables replaced. */
  sql: string;
  /** First words, for messages. */
  title: string;
  /** Effect of the statement. */
  action: PermissionAction;
  /** True for GRANT, REVOKE and statements about roles, the only ones allowed by default. */
  isPermission: boolean;
  /** True if a comment extends column privileges to whole tables on the distributed provider. */
  isWholeTableOnDistSql: boolean;
}

/**
 * Comment before a GRANT or REVOKE of columns in a permission file. On the distributed provider,
 * which is not known to support column grants, the statement then applies to whole tables.
 */
export const WHOLE_TABLE_COMMENT = "-- distsql: whole table";

const ROLE_OBJECTS: ReadonlySet<string> = new Set(["ROLE", "USER", "GROUP"]);

/**
 * Checks whether a statement changes only privileges or roles.
 *
 * @param reader The statement.
 */
export function isPermissionStatement(reader: StatementReader): boolean {
  if (reader.is(0, "GRANT") || reader.is(0, "REVOKE")) return true;
  if (reader.is(0, "AWS", "IAM", "GRANT") || reader.is(0, "AWS", "IAM", "REVOKE")) return true;
  if (reader.is(0, "ALTER", "DEFAULT", "PRIVILEGES") || reader.is(0, "COMMENT", "ON", "ROLE")) {
    return true;
  }
  const isChange = reader.is(0, "CREATE") || reader.is(0, "ALTER") || reader.is(0, "DROP");
  return isChange && reader.isOneOf(1, ROLE_OBJECTS) && !reader.is(2, "MAPPING");
}

/**
 * Parses the effect of a statement.
 *
 * @param reader The statement.
 * @returns `other` for a statement that is not understood completely, which is then run without
 * comparison.
 */
export function readAction(reader: StatementReader): PermissionAction {
  const other: PermissionAction = { kind: "other" };
  if (reader.is(0, "CREATE", "ROLE") || reader.is(0, "CREATE", "USER")) {
    return readCreateRole(reader);
  }
  if (reader.is(0, "AWS", "IAM", "GRANT")) return readIam(reader, "iam_grant", "TO") ?? other;
  if (reader.is(0, "AWS", "IAM", "REVOKE")) return readIam(reader, "iam_revoke", "FROM") ?? other;
  if (reader.is(0, "GRANT")) return readGrant(reader, "grant", "TO") ?? other;
  if (reader.is(0, "REVOKE") && !reader.is(1, "GRANT", "OPTION")) {
    return readGrant(reader, "revoke", "FROM") ?? other;
  }
  return other;
}

function readCreateRole(reader: StatementReader): PermissionAction {
  const name = readName(reader, 2);
  if (name.name === "" || reader.is(2, "MAPPING")) return { kind: "other" };
  let canLogin = reader.is(1, "USER");
  for (let at = name.end; at < reader.size; at++) {
    if (reader.is(at, "LOGIN")) canLogin = true;
    else if (reader.is(at, "NOLOGIN")) canLogin = false;
  }
  return { kind: "create_role", role: name.name, canLogin };
}

function readIam(
  reader: StatementReader,
  kind: "iam_grant" | "iam_revoke",
  word: string,
): PermissionAction | undefined {
  const role = readName(reader, 3);
  const arn = reader.token(role.end + 1);
  const isWhole = role.name !== "" && reader.is(role.end, word) && role.end + 2 === reader.size;
  if (!isWhole || arn?.kind !== "string" || !/^'(?:[^']|'')*'$/.test(arn.text)) return undefined;
  return { kind, role: role.name, arn: arn.text.slice(1, -1).replaceAll("''", "'") };
}

const OBJECT_WORDS: Readonly<Record<string, PermissionObjectType>> = {
  TABLE: "table",
  SEQUENCE: "sequence",
  SCHEMA: "schema",
};
const ALL_WORDS: Readonly<Record<string, PermissionObjectType>> = {
  TABLES: "table",
  SEQUENCES: "sequence",
};
/** Objects that are not compared with the catalog. */
const OTHER_OBJECTS: ReadonlySet<string> = keywordSet(
  "DATABASE DOMAIN FOREIGN FUNCTION LANGUAGE LARGE PARAMETER PROCEDURE ROUTINE TABLESPACE TYPE",
);
const ROLE_WORDS: ReadonlySet<string> = new Set(["CURRENT_USER", "CURRENT_ROLE", "SESSION_USER"]);

function readGrant(
  reader: StatementReader,
  kind: "grant" | "revoke",
  word: string,
): PermissionAction | undefined {
  const on = reader.find("ON", 1);
  const to = reader.find(new Set([word]), on);
  if (on < 0 || to < 0) return undefined;
  const privileges = readPrivileges(reader, on);
  const objects = readObjects(reader, on + 1, to);
  const tail = reader.find(new Set(["WITH", "GRANTED", "CASCADE", "RESTRICT"]), to);
  const grantable = kind === "grant" && tail >= 0 && reader.is(tail, "WITH", "GRANT", "OPTION");
  const isKnownTail = tail < 0 || (grantable && tail + 3 === reader.size);
  const roles = readRoles(reader, to + 1, tail < 0 ? reader.size : tail);
  if (privileges === undefined || objects === undefined || roles === undefined || !isKnownTail) {
    return undefined;
  }
  return { kind, privileges, objects, roles, grantable };
}

function readPrivileges(
  reader: StatementReader,
  to: number,
): { name: string; columns: string[] }[] | undefined {
  const privileges: { name: string; columns: string[] }[] = [];
  for (const [from, end] of reader.list(1, to)) {
    const open = reader.find("(", from, end);
    const name = reader.text(from, open < 0 ? end : open).trim().toUpperCase();
    if (!/^[A-Z]+(?: PRIVILEGES)?$/.test(name)) return undefined;
    const columns = open < 0 ? [] : reader.listIn(open).map(([at]) => getName(reader.token(at)!));
    privileges.push({ name: name.replace(" PRIVILEGES", ""), columns });
  }
  return privileges;
}

function readObjects(
  reader: StatementReader,
  from: number,
  to: number,
): PermissionObject[] | undefined {
  const key = reader.key(from);
  if (OTHER_OBJECTS.has(key)) return undefined;
  if (key === "ALL") {
    const type = ALL_WORDS[reader.key(from + 1)];
    if (type === undefined || !reader.is(from + 2, "IN", "SCHEMA")) return undefined;
    return reader.list(from + 4, to).map(([at]) => ({
      type,
      schema: readName(reader, at).name,
      name: undefined,
    }));
  }
  const type = OBJECT_WORDS[key] ?? "table";
  const start = OBJECT_WORDS[key] === undefined ? from : from + 1;
  return reader.list(start, to).map(([at]) => {
    const end = reader.nameEnd(at);
    const schema = end - at > 1 ? getName(reader.token(end - 3)!) : undefined;
    return { type, schema, name: getName(reader.token(end - 1)!) };
  });
}

function readRoles(
  reader: StatementReader,
  from: number,
  to: number,
): (string | null)[] | undefined {
  const roles: (string | null)[] = [];
  for (const [start, end] of reader.list(from, to)) {
    const at = reader.skip(start, "GROUP");
    if (at + 1 !== end || !reader.isName(at) || reader.isOneOf(at, ROLE_WORDS)) return undefined;
    roles.push(reader.is(at, "PUBLIC") ? null : getName(reader.token(at)!));
  }
  return roles;
}
