import { displayType, isKeyType, refuseType, typeName } from "./column_types.ts";
import { child, children, getText, strings, type SyntaxNode } from "../syntax/syntax_tree.ts";
import { TOO_MANY_KEYS } from "./index_rules.ts";
import { type Refusal, type RefusalRule, rulesOn } from "./rule.ts";
import { cacheSize, isCacheAccepted } from "./sequence_cache.ts";

function columns(node: SyntaxNode): SyntaxNode[] {
  return children(node, "tableElts").map((element) => child(element, "ColumnDef")).filter((
    column,
  ) => column.colname);
}

function columnConstraints(column: SyntaxNode): SyntaxNode[] {
  return children(column, "constraints").map((constraint) => child(constraint, "Constraint"));
}

function tableConstraints(node: SyntaxNode): SyntaxNode[] {
  return children(node, "tableElts").map((element) => child(element, "Constraint")).filter((
    found,
  ) => found.contype);
}

/** Checks whether a column can have its type, or be an identity with it. */
export function refuseColumn(column: SyntaxNode): Refusal | undefined {
  const type = child(column, "typeName");
  const refused = refuseType(type);
  if (refused) return refused;
  const identity = columnConstraints(column).find((found) =>
    getText(found, "contype") === "CONSTR_IDENTITY"
  );
  if (!identity) return undefined;
  if (!isCacheAccepted(cacheSize(children(identity, "options")))) {
    return { sqlstate: "0A000", message: IDENTITY_CACHE };
  }
  if (typeName(type) !== "int8") {
    return {
      sqlstate: "0A000",
      message: `datatype ${displayType(type)} not supported, identity column type must be bigint`,
    };
  }
}

/** Text for an identity whose CACHE is missing or between 2 and 65535. */
export const IDENTITY_CACHE =
  "identity column is not supported without an explicit cache size. please define CACHE greater " +
  "than or equal to 65536 or equal to 1";

function keyColumns(node: SyntaxNode): string[] {
  const isKey = (constraint: SyntaxNode): boolean =>
    ["CONSTR_PRIMARY", "CONSTR_UNIQUE"].includes(getText(constraint, "contype"));
  return [
    ...columns(node).filter((column) => columnConstraints(column).some(isKey)).map((column) =>
      getText(column, "colname")
    ),
    ...tableConstraints(node).filter(isKey).flatMap((constraint) =>
      strings(children(constraint, "keys"))
    ),
  ];
}

function hasForeignKey(node: SyntaxNode): boolean {
  const all = [...tableConstraints(node), ...columns(node).flatMap(columnConstraints)];
  return all.some((constraint) => getText(constraint, "contype") === "CONSTR_FOREIGN");
}

function isDeferrableKey(constraints: readonly SyntaxNode[]): boolean {
  return constraints.some((constraint, index) => {
    if (!["CONSTR_PRIMARY", "CONSTR_UNIQUE"].includes(getText(constraint, "contype"))) return false;
    const next = constraints[index + 1];
    return constraint.deferrable === true ||
      (next !== undefined && getText(next, "contype") === "CONSTR_ATTR_DEFERRABLE");
  });
}

const OBSERVED = "EMU 2026-09-18, SPIKE 2026-09-23, LIM 2026-10";
const LINTED = "LINT 2026-08 (refused; text inferred)";

export const TABLE_RULES: readonly RefusalRule[] = [
  ...rulesOn("CreateStmt", [
    {
      id: "table-temporary-table",
      text: "TEMPORARY or TEMP table not supported for CREATE TABLE",
      source: OBSERVED,
      when: ({ node }) => getText(child(node, "relation"), "relpersistence") === "t",
    },
    {
      id: "table-unlogged-table",
      text: "UNLOGGED table not supported for CREATE TABLE",
      source: OBSERVED,
      when: ({ node }) => getText(child(node, "relation"), "relpersistence") === "u",
    },
    {
      id: "table-partition",
      text: "PARTITION BY clause not supported",
      source: OBSERVED,
      when: ({ node }) => node.partspec !== undefined || node.partbound !== undefined,
    },
    {
      id: "table-of-type",
      text: "OF clause not supported",
      source: LINTED,
      when: ({ node }) => node.ofTypename !== undefined,
    },
    {
      id: "table-inherits",
      text: "INHERITS clause not supported",
      source: LINTED,
      when: ({ node }) => children(node, "inhRelations").length > 0 && node.partbound === undefined,
    },
    {
      id: "table-tablespace",
      text: "TABLESPACE not supported for CREATE TABLE",
      source: LINTED,
      when: ({ node }) => Boolean(node.tablespacename),
    },
    {
      id: "table-with",
      text: "WITH not supported for CREATE TABLE",
      source: LINTED,
      when: ({ node }) => children(node, "options").length > 0,
    },
    {
      id: "table-on-commit",
      text: "ON COMMIT not supported for CREATE TABLE",
      source: LINTED,
      when: ({ node }) => !["", "ONCOMMIT_NOOP"].includes(getText(node, "oncommit")),
    },
    {
      id: "table-compression",
      text: "COMPRESSION not supported for CREATE TABLE",
      source: LINTED,
      when: ({ node }) => columns(node).some((column) => Boolean(column.compression)),
    },
    {
      id: "table-collate",
      text: "COLLATE clause not supported",
      source: OBSERVED,
      when: ({ node }) => columns(node).some((column) => column.collClause !== undefined),
    },
    {
      id: "table-exclude",
      text: "EXCLUDE constraint not supported",
      source: LINTED,
      when: ({ node }) =>
        tableConstraints(node).some((found) => getText(found, "contype") === "CONSTR_EXCLUSION"),
    },
    {
      id: "table-deferrable-key",
      text: "DEFERRABLE constraint not supported",
      source: OBSERVED,
      when: ({ node }) =>
        isDeferrableKey(tableConstraints(node)) ||
        columns(node).some((column) => isDeferrableKey(columnConstraints(column))),
    },
    {
      id: "table-foreign-key",
      until: "2026-08-26",
      source: "REL 2026-08-26 (accepted from then on; earlier text inferred)",
      text: "FOREIGN KEY constraint not supported",
      when: ({ node }) => hasForeignKey(node),
    },
    {
      id: "table-column",
      source: "EMU 2026-09-18, DT, CS",
      refuse: ({ node }) =>
        columns(node).map(refuseColumn).find((refused) => refused !== undefined),
    },
    {
      id: "table-key-type",
      source: "LIM 2026-10, DT",
      refuse({ node }) {
        const keys = keyColumns(node);
        const bad = columns(node).find((column) =>
          keys.includes(getText(column, "colname")) && !isKeyType(child(column, "typeName"))
        );
        return bad && `datatype ${displayType(child(bad, "typeName"))} is not supported in a key`;
      },
    },
    {
      id: "table-key-columns",
      sqlstate: "54011",
      source: "Q, LIM 2026-10",
      text: TOO_MANY_KEYS,
      when: ({ node }) =>
        tableConstraints(node).some((found) => children(found, "keys").length > 8),
    },
    {
      id: "table-columns",
      sqlstate: "54011",
      source: "Q (255 columns; text inferred)",
      text: "tables can have at most 255 columns",
      when: ({ node }) => columns(node).length > 255,
    },
  ]),
  {
    id: "domain-type",
    on: ["CreateDomainStmt"],
    source: "DT (a domain cannot be over what cannot be stored; inferred)",
    refuse: ({ node }) => refuseType(child(node, "typeName")),
  },
];
