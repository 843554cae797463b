import { child, children, definitions, getText, strings } from "../syntax/syntax_tree.ts";
import type { RefusalRule } from "./rule.ts";
import { cacheSize, isCacheAccepted } from "./sequence_cache.ts";

const DROPPABLE = [
  "TABLE",
  "INDEX",
  "VIEW",
  "SEQUENCE",
  "SCHEMA",
  "FUNCTION",
  "DOMAIN",
  "TRIGGER",
  "STATISTIC_EXT",
];

/** Objects that can be renamed and commented on. */
const RENAMED_OR_COMMENTED = [
  "TABLE",
  "COLUMN",
  "TABCONSTRAINT",
  "INDEX",
  "VIEW",
  "SEQUENCE",
  "SCHEMA",
  "FUNCTION",
  "ROUTINE",
  "ROLE",
  "DOMAIN",
  "DOMCONSTRAINT",
  "STATISTIC_EXT",
];

/** Objects whose owner can be changed. */
const OWNED = ["SCHEMA", "DOMAIN", "FUNCTION", "ROUTINE", "STATISTIC_EXT"];

/** Options of a role, as named in the parse tree. */
const ROLE_OPTIONS = ["canlogin", "inherit", "addroleto", "rolemembers", "adminmembers"];

const SYSTEM_SCHEMAS = ["public", "sys", "pg_catalog"];
const SYSTEM_ENTITY = "feature not supported on system entity";

function isOneOf(kinds: readonly string[], object: string): boolean {
  return kinds.includes(object.replace("OBJECT_", ""));
}

function isSystemSchema(name: string): boolean {
  return SYSTEM_SCHEMAS.includes(name);
}

/** Refusals of statements that create, change or drop objects other than tables and indexes. */
export const OBJECT_RULES: readonly RefusalRule[] = [
  {
    id: "function-language",
    on: ["CreateFunctionStmt"],
    source: "EMU 2026-09-18",
    refuse({ node }) {
      if (node.is_procedure) return "PROCEDURE is not supported";
      const language = definitions(children(node, "options")).get("language");
      const name = language
        ? getText(child(child(language, "arg"), "String"), "sval").toLowerCase()
        : "sql";
      return name === "sql" ? undefined : `CREATE FUNCTION with language ${name} not supported`;
    },
  },
  {
    id: "drop-object",
    on: ["DropStmt"],
    source: "EMU 2026-09-18",
    text: "unsupported object in DROP statement",
    when({ node }) {
      const object = getText(node, "removeType").replace("OBJECT_", "");
      return !DROPPABLE.includes(object) || (object === "TRIGGER" && !node.missing_ok);
    },
  },
  {
    id: "drop-domain-cascade",
    on: ["DropStmt"],
    source: "EMU 2026-09-18, MTX 2026-08-28 (refused; text inferred)",
    text: "CASCADE not supported for DROP DOMAIN",
    when: ({ node }) =>
      getText(node, "removeType") === "OBJECT_DOMAIN" &&
      getText(node, "behavior") === "DROP_CASCADE",
  },
  {
    id: "rename-object",
    on: ["RenameStmt"],
    source: "EMU 2026-09-18 (types); GRAM, LINT 2026-08 (other objects)",
    text: "unsupported object in RENAME statement",
    when: ({ node }) => !isOneOf(RENAMED_OR_COMMENTED, getText(node, "renameType")),
  },
  {
    id: "owner-of-object",
    on: ["AlterOwnerStmt"],
    source: "GRAM, LINT 2026-08 (text inferred)",
    text: "unsupported object in ALTER OWNER statement",
    when: ({ node }) => !isOneOf(OWNED, getText(node, "objectType")),
  },
  {
    id: "comment-on-object",
    on: ["CommentStmt"],
    source: "GRAM 2026-08, MTX 2026-08-28 (text inferred)",
    text: "unsupported object in COMMENT statement",
    when: ({ node }) => !isOneOf(RENAMED_OR_COMMENTED, getText(node, "objtype")),
  },
  {
    id: "alter-domain",
    on: ["AlterDomainStmt"],
    source: "EMU 2026-09-18, MTX 2026-08-28 (refused; text inferred)",
    refuse({ node }) {
      const action = { O: "SET NOT NULL", C: "ADD CONSTRAINT" }[getText(node, "subtype")];
      return action && `unsupported ALTER DOMAIN ${action} statement`;
    },
  },
  {
    id: "sequence-cache",
    on: ["CreateSeqStmt"],
    source: "EMU 2026-09-18, CS",
    text: "CREATE SEQUENCE is not supported without an explicit cache size. please define " +
      "CACHE greater than or equal to 65536 or equal to 1",
    when: ({ node }) => !isCacheAccepted(cacheSize(children(node, "options"))),
  },
  {
    id: "role-options",
    on: ["CreateRoleStmt"],
    source: "ROLE (roles sign in through IAM), GRAM 2026-08 (memberships); text inferred",
    refuse({ node }) {
      const option = [...definitions(children(node, "options")).keys()].find((name) =>
        !ROLE_OPTIONS.includes(name)
      );
      return option && `${option.toUpperCase()} not supported for roles`;
    },
  },
  {
    id: "grant-on-system-schema",
    on: ["GrantStmt"],
    source: "PGR 2026-08-19, MTX 2026-08-28",
    text: SYSTEM_ENTITY,
    when: ({ node }) =>
      getText(node, "objtype") === "OBJECT_SCHEMA" &&
      strings(children(node, "objects")).some(isSystemSchema),
  },
  {
    id: "change-of-system-schema",
    on: ["DropStmt", "RenameStmt", "AlterOwnerStmt", "CommentStmt"],
    source: "PGR 2026-08-19, MTX 2026-08-28 (GRANT and REVOKE; inferred for other statements)",
    text: SYSTEM_ENTITY,
    when({ node }) {
      const kinds = ["removeType", "renameType", "objectType", "objtype"];
      if (!kinds.some((kind) => getText(node, kind) === "OBJECT_SCHEMA")) return false;
      const names = strings([...children(node, "objects"), child(node, "object")]);
      return [...names, getText(node, "subname")].some(isSystemSchema);
    },
  },
  {
    id: "schema-elements",
    on: ["CreateSchemaStmt"],
    source:
      "EMU 2026-09-18 (several DDL statements in a transaction; inferred for the parts of one)",
    text: "multiple ddl statements not supported in a transaction",
    when: ({ node }) => children(node, "schemaElts").length > 0,
  },
  {
    id: "alter-role",
    on: ["AlterRoleStmt"],
    source: "LINT 2026-08 (refused with any option; text inferred)",
    text: "unsupported ALTER ROLE statement",
    when: () => true,
  },
  {
    id: "alter-role-set",
    on: ["AlterRoleSetStmt"],
    source:
      "LINT 2026-08 (SET refused, RESET accepted), GRAM 2026-08 (no IN DATABASE; text inferred)",
    text: "unsupported statement: AlterRoleSet",
    when: ({ node }) =>
      !["VAR_RESET", "VAR_RESET_ALL"].includes(getText(child(node, "setstmt"), "kind")) ||
      getText(node, "database") !== "",
  },
  {
    id: "temporary-view",
    on: ["ViewStmt"],
    source: "EMU 2026-09-18 (refused; text inferred)",
    text: "TEMPORARY or TEMP view not supported for CREATE VIEW",
    when: ({ node }) => getText(child(node, "view"), "relpersistence") === "t",
  },
];
