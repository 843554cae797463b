import { child, children, definitions, getText, strings } from "../syntax_tree.ts";
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
    sure: "L",
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
    sure: "L",
    source: "EMU 2026-09-18",
    refuse({ node }) {
      const object = getText(node, "removeType").replace("OBJECT_", "");
      if (!DROPPABLE.includes(object) || (object === "TRIGGER" && !node.missing_ok)) {
        return "unsupported object in DROP statement";
      }
    },
  },
  {
    id: "drop-domain-cascade",
    on: ["DropStmt"],
    sure: "I",
    source: "EMU 2026-09-18, MTX 2026-08-28 (refused; text inferred)",
    refuse({ node }) {
      const cascades = getText(node, "removeType") === "OBJECT_DOMAIN" &&
        getText(node, "behavior") === "DROP_CASCADE";
      return cascades ? "CASCADE not supported for DROP DOMAIN" : undefined;
    },
  },
  {
    id: "rename-object",
    on: ["RenameStmt"],
    sure: "L",
    source: "EMU 2026-09-18 (types); GRAM, LINT 2026-08 (other objects)",
    refuse({ node }) {
      return isOneOf(RENAMED_OR_COMMENTED, getText(node, "renameType"))
        ? undefined
        : "unsupported object in RENAME statement";
    },
  },
  {
    id: "owner-of-object",
    on: ["AlterOwnerStmt"],
    sure: "T",
    source: "GRAM, LINT 2026-08 (text inferred)",
    refuse({ node }) {
      return isOneOf(OWNED, getText(node, "objectType"))
        ? undefined
        : "unsupported object in ALTER OWNER statement";
    },
  },
  {
    id: "comment-on-object",
    on: ["CommentStmt"],
    sure: "T",
    source: "GRAM 2026-08, MTX 2026-08-28 (text inferred)",
    refuse({ node }) {
      return isOneOf(RENAMED_OR_COMMENTED, getText(node, "objtype"))
        ? undefined
        : "unsupported object in COMMENT statement";
    },
  },
  {
    id: "alter-domain",
    on: ["AlterDomainStmt"],
    sure: "I",
    source: "EMU 2026-09-18, MTX 2026-08-28 (refused; text inferred)",
    refuse({ node }) {
      const kind = getText(node, "subtype");
      if (kind === "O" || kind === "C") {
        return `unsupported ALTER DOMAIN ${
          kind === "O" ? "SET NOT NULL" : "ADD CONSTRAINT"
        } statement`;
      }
    },
  },
  {
    id: "sequence-cache",
    on: ["CreateSeqStmt"],
    sure: "L",
    source: "EMU 2026-09-18, CS",
    refuse({ node }) {
      if (isCacheAccepted(cacheSize(children(node, "options")))) return undefined;
      return "CREATE SEQUENCE is not supported without an explicit cache size. please define " +
        "CACHE greater than or equal to 65536 or equal to 1";
    },
  },
  {
    id: "role-options",
    on: ["CreateRoleStmt"],
    sure: "I",
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
    sure: "L",
    source: "PGR 2026-08-19, MTX 2026-08-28",
    refuse({ node }) {
      if (getText(node, "objtype") !== "OBJECT_SCHEMA") return undefined;
      return strings(children(node, "objects")).some(isSystemSchema) ? SYSTEM_ENTITY : undefined;
    },
  },
  {
    id: "change-of-system-schema",
    on: ["DropStmt", "RenameStmt", "AlterOwnerStmt", "CommentStmt"],
    sure: "I",
    source: "PGR 2026-08-19, MTX 2026-08-28 (GRANT and REVOKE; inferred for other statements)",
    refuse({ node }) {
      const kinds = [
        getText(node, "removeType"),
        getText(node, "renameType"),
        getText(node, "objectType"),
        getText(node, "objtype"),
      ];
      if (!kinds.includes("OBJECT_SCHEMA")) return undefined;
      const names = [
        ...strings(children(node, "objects")),
        getText(node, "subname"),
        ...strings([child(node, "object")]),
      ];
      return names.some(isSystemSchema) ? SYSTEM_ENTITY : undefined;
    },
  },
  {
    id: "schema-elements",
    on: ["CreateSchemaStmt"],
    sure: "I",
    source:
      "EMU 2026-09-18 (several DDL statements in a transaction; inferred for the parts of one)",
    refuse({ node }) {
      return children(node, "schemaElts").length > 0
        ? "multiple ddl statements not supported in a transaction"
        : undefined;
    },
  },
  {
    id: "alter-role",
    on: ["AlterRoleStmt"],
    sure: "T",
    source: "LINT 2026-08 (refused with any option; text inferred)",
    refuse() {
      return "unsupported ALTER ROLE statement";
    },
  },
  {
    id: "alter-role-set",
    on: ["AlterRoleSetStmt"],
    sure: "T",
    source:
      "LINT 2026-08 (SET refused, RESET accepted), GRAM 2026-08 (no IN DATABASE; text inferred)",
    refuse({ node }) {
      const isReset = ["VAR_RESET", "VAR_RESET_ALL"].includes(
        getText(child(node, "setstmt"), "kind"),
      );
      return isReset && getText(node, "database") === ""
        ? undefined
        : "unsupported statement: AlterRoleSet";
    },
  },
  {
    id: "temporary-view",
    on: ["ViewStmt"],
    sure: "I",
    source: "EMU 2026-09-18 (refused; text inferred)",
    refuse({ node }) {
      return getText(child(node, "view"), "relpersistence") === "t"
        ? "TEMPORARY or TEMP view not supported for CREATE VIEW"
        : undefined;
    },
  },
];
