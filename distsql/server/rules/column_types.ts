import { children, strings, type SyntaxNode } from "../syntax/syntax_tree.ts";
import { listWords } from "../../../sql/list_words.ts";

/** PostgreSQL types that the provider cannot store, by internal name, with the displayed name. */
const NOT_STORABLE = new Map<string, string>([
  ["bit", "bit"],
  ["varbit", "bit varying"],
  ["char", '"char"'],
  ...listWords(`
  money xml inet cidr macaddr macaddr8 point line lseg box path polygon circle
  tsvector tsquery int4range int8range numrange tsrange tstzrange daterange
  int4multirange int8multirange nummultirange tsmultirange tstzmultirange
  datemultirange pg_lsn jsonpath name oid xid xid8 cid tid regclass regproc regtype
  regrole regnamespace regoper regconfig refcursor pg_snapshot txid_snapshot aclitem
`).map((name): [string, string] => [name, name]),
]);

const DISPLAYED = new Map([
  ["int2", "smallint"],
  ["int4", "integer"],
  ["int8", "bigint"],
  ["float4", "real"],
  ["float8", "double precision"],
  ["bpchar", "character"],
  ["varchar", "character varying"],
  ["timetz", "time with time zone"],
  ["timestamp", "timestamp without time zone"],
  ["timestamptz", "timestamp with time zone"],
  ["time", "time without time zone"],
  ["bool", "boolean"],
]);

const SERIALS = ["serial", "bigserial", "smallserial", "serial2", "serial4", "serial8"];

/** Maximum lengths of `varchar(n)` and `char(n)`. */
const MAX_LENGTHS = new Map([["varchar", 65_535], ["bpchar", 4_096]]);

/** Reason why a column cannot have a type. */
export interface TypeRefusal {
  readonly sqlstate: "0A000" | "42704";
  readonly message: string;
}

/** Returns the internal name of a type, without its schema. */
export function typeName(type: SyntaxNode): string {
  return strings(children(type, "names")).at(-1) ?? "";
}

/** Formats a type as PostgreSQL displays it. */
export function displayType(type: SyntaxNode): string {
  const name = typeName(type);
  const shown = DISPLAYED.get(name) ?? NOT_STORABLE.get(name) ?? name;
  return children(type, "arrayBounds").length > 0 ? `${shown}[]` : shown;
}

function declaredLength(type: SyntaxNode): number {
  const modifier = children(type, "typmods")[0] as
    | { A_Const?: { ival?: { ival?: number } } }
    | undefined;
  return modifier?.A_Const?.ival?.ival ?? 0;
}

/**
 * Checks whether a column can have a type.
 *
 * Names that are not built in are left to the database: they are domains, or do not exist.
 */
export function refuseType(type: SyntaxNode): TypeRefusal | undefined {
  const name = typeName(type);
  if (SERIALS.includes(name)) {
    return { sqlstate: "42704", message: `type "${name}" does not exist` };
  }
  if (children(type, "arrayBounds").length > 0 || NOT_STORABLE.has(name)) {
    return { sqlstate: "0A000", message: `datatype ${displayType(type)} not supported` };
  }
  const maxLength = MAX_LENGTHS.get(name);
  if (maxLength !== undefined && declaredLength(type) > maxLength) {
    return {
      sqlstate: "0A000",
      message: `datatype limit greater than ${maxLength} bytes not supported ` +
        `for ${displayType(type)}`,
    };
  }
  return undefined;
}

/** Checks whether a column of the type can be part of a key. */
export function isKeyType(type: SyntaxNode): boolean {
  return !["json", "jsonb"].includes(typeName(type));
}

/** Checks for numeric without precision, which the provider stores as numeric(18,6). */
export function isBareNumeric(type: SyntaxNode): boolean {
  return typeName(type) === "numeric" && children(type, "typmods").length === 0;
}
