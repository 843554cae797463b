import {
  child,
  children,
  definitions,
  findNodes,
  getText,
  strings,
  type SyntaxNode,
} from "../syntax_tree.ts";
import type { RefusalRule } from "./rule.ts";
import { listWords } from "../../../database/distsql/list_words.ts";

/** Statements that the provider accepts; every other is an "unsupported statement". */
const ACCEPTED = new Set(listWords(`
  SelectStmt InsertStmt UpdateStmt DeleteStmt TransactionStmt ExplainStmt CallStmt
  CopyStmt CreateStmt AlterTableStmt IndexStmt DropStmt RenameStmt ViewStmt
  CommentStmt IamStmt CreateSeqStmt AlterSeqStmt CreateSchemaStmt CreateFunctionStmt
  CreateDomainStmt AlterDomainStmt AlterObjectSchemaStmt AlterOwnerStmt
  CreateStatsStmt AlterStatsStmt GrantStmt GrantRoleStmt CreateRoleStmt AlterRoleStmt
  AlterRoleSetStmt DropRoleStmt VariableSetStmt VariableShowStmt VacuumStmt
  DeallocateStmt
`));

/** Refusals with a specific text, by node type. */
const OWN_TEXTS: Record<string, string> = {
  MergeStmt: "unsupported statement type: MERGE",
  CreateTrigStmt: "CREATE TRIGGER not supported",
  CreateEnumStmt: "CREATE TYPE not supported",
  DefineStmt: "CREATE TYPE not supported",
  AlterEnumStmt: "ALTER TYPE not supported",
  AlterTypeStmt: "ALTER TYPE not supported",
  CompositeTypeStmt: "unsupported statement: CompositeType",
};

const TRANSACTION_WORDS: Record<string, string> = {
  TRANS_STMT_SAVEPOINT: "SAVEPOINT",
  TRANS_STMT_RELEASE: "RELEASE",
  TRANS_STMT_ROLLBACK_TO: "ROLLBACK TO",
  TRANS_STMT_PREPARE: "PREPARE TRANSACTION",
  TRANS_STMT_COMMIT_PREPARED: "COMMIT PREPARED",
  TRANS_STMT_ROLLBACK_PREPARED: "ROLLBACK PREPARED",
};

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

/** Objects by the changes that they support. */
const RENAMED = [
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
const OWNED = ["SCHEMA", "DOMAIN", "FUNCTION", "ROUTINE", "STATISTIC_EXT"];
const COMMENTED = [
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

/** Options of a role, as named in the parse tree. */
const ROLE_OPTIONS = ["canlogin", "inherit", "addroleto", "rolemembers", "adminmembers"];

const FIXED_SETTINGS = [
  "role",
  "session_authorization",
  "transaction_isolation",
  "default_transaction_isolation",
];

const TEXT_SEARCH = /^((jsonb?_)?to_tsvector|(plain|phrase|websearch_)?to_tsquery|ts_headline)$/;

const SIMPLE = ["simple", "pg_catalog.simple"];

const SYSTEM_SCHEMAS = ["public", "sys", "pg_catalog"];
const SYSTEM_ENTITY = "feature not supported on system entity";

function functionNames(node: SyntaxNode): { name: string; call: SyntaxNode }[] {
  return findNodes(node, "FuncCall").map((call) => ({
    name: strings(children(call, "funcname")).at(-1) ?? "",
    call,
  }));
}

function firstArgument(call: SyntaxNode): string | undefined {
  const constants = findNodes(children(call, "args")[0], "A_Const");
  return constants.length > 0 ? getText(child(constants[0], "sval"), "sval") : undefined;
}

function isOneOf(kinds: readonly string[], object: string): boolean {
  return kinds.includes(object.replace("OBJECT_", ""));
}

function isSystemSchema(name: string): boolean {
  return SYSTEM_SCHEMAS.includes(name);
}

/** Returns a sequence's cache size, or undefined if it is not given. */
export function cacheSize(options: readonly SyntaxNode[]): number | undefined {
  const argument = child(definitions(options).get("cache") ?? {}, "arg");
  if (Object.keys(argument).length === 0) return undefined;
  return Number(child(argument, "Integer").ival ?? getText(child(argument, "Float"), "fval"));
}

/** Checks whether the provider accepts a cache size. */
export function isCacheAccepted(cache: number | undefined): boolean {
  return cache !== undefined && (cache === 1 || cache >= 65_536);
}

/** Refusals of whole statements, transaction control, settings and parts of queries. */
export const STATEMENT_RULES: readonly RefusalRule[] = [
  {
    id: "transaction-statement",
    on: ["TransactionStmt"],
    sure: "L",
    source: "EMU 2026-09-18",
    refuse({ node }) {
      const word = node.chain ? "AND CHAIN" : TRANSACTION_WORDS[getText(node, "kind")];
      return word && `unsupported transaction statement: ${word}`;
    },
  },
  {
    id: "isolation-level",
    on: ["TransactionStmt"],
    sure: "L",
    source: "EMU 2026-09-18",
    refuse({ node }) {
      const level = definitions(children(node, "options")).get("transaction_isolation");
      const name = level && getText(child(child(child(level, "arg"), "A_Const"), "sval"), "sval");
      if (name && name !== "repeatable read") {
        return `Unsupported isolation level: ${name.toUpperCase()}`;
      }
    },
  },
  {
    id: "set-transaction",
    on: ["VariableSetStmt"],
    sure: "L",
    source: "EMU 2026-09-18",
    refuse({ node }) {
      const isTransaction = ["TRANSACTION", "SESSION CHARACTERISTICS", "TRANSACTION SNAPSHOT"]
        .includes(
          getText(node, "name"),
        );
      return isTransaction
        ? 'setting configuration parameter "TRANSACTION" not supported'
        : undefined;
    },
  },
  {
    id: "set-fixed-parameter",
    on: ["VariableSetStmt"],
    sure: "L",
    source: "PGR 2026-08-19, EMU 2026-09-18",
    refuse({ node }) {
      const name = getText(node, "name");
      if (FIXED_SETTINGS.includes(name)) {
        return `setting configuration parameter "${name}" not supported`;
      }
    },
  },
  {
    id: "materialized-view",
    on: ["RefreshMatViewStmt", "CreateTableAsStmt"],
    sure: "L",
    source: "EMU 2026-09-18",
    refuse({ type }) {
      return `unsupported statement: ${
        type === "CreateTableAsStmt" ? "CreateTableAs" : "RefreshMatView"
      }`;
    },
  },
  {
    id: "select-into",
    on: ["SelectStmt"],
    sure: "L",
    source: "EMU 2026-09-18",
    refuse({ node }) {
      return node.intoClause ? "unsupported statement: CreateTableAs" : undefined;
    },
  },
  {
    id: "own-text",
    on: Object.keys(OWN_TEXTS),
    sure: "L",
    source: "EMU 2026-09-18",
    refuse({ type }) {
      return OWN_TEXTS[type];
    },
  },
  {
    id: "unknown-statement",
    sure: "L",
    source: "EMU 2026-09-18 (Truncate, CreateExtension, Listen, " +
      "AlterSystem and others; the form of the text is the same)",
    refuse({ type }) {
      return ACCEPTED.has(type) ? undefined : `unsupported statement: ${type.replace(/Stmt$/, "")}`;
    },
  },
  {
    id: "vacuum",
    on: ["VacuumStmt"],
    sure: "L",
    source: "EMU 2026-09-18; ANALYZE without a table: FKP 2026-08-28",
    refuse({ node }) {
      if (node.is_vacuumcmd) return "unsupported VACUUM statement";
      return children(node, "rels").length === 0 ? "unsupported ANALYZE statement" : undefined;
    },
  },
  {
    id: "deallocate-name",
    on: ["DeallocateStmt"],
    sure: "T",
    source: "LINT 2026-08",
    refuse({ node }) {
      return getText(node, "name") ? "unsupported statement: Deallocate" : undefined;
    },
  },
  {
    id: "copy-file",
    on: ["CopyStmt"],
    sure: "I",
    source: "LINT 2026-08 (only STDIN and STDOUT)",
    refuse({ node }) {
      return node.filename || node.is_program ? "unsupported statement: Copy" : undefined;
    },
  },
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
      return isOneOf(RENAMED, getText(node, "renameType"))
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
      return isOneOf(COMMENTED, getText(node, "objtype"))
        ? undefined
        : "unsupported object in COMMENT statement";
    },
  },
  {
    id: "newer-syntax",
    sqlstate: "42601",
    sure: "I",
    source: "EMU 2026-09-18 (version 16; NOT ENFORCED came with PostgreSQL 18)",
    refuse({ tokens }) {
      const isNewer = tokens.some(({ text }, at) =>
        text.toUpperCase() === "ENFORCED" && tokens[at - 1]?.text.toUpperCase() === "NOT"
      );
      return isNewer ? 'syntax error at or near "ENFORCED"' : undefined;
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
  {
    id: "wait-for-job-arguments",
    on: ["SelectStmt"],
    sqlstate: "42809",
    sure: "L",
    source: "EMU 2026-09-18",
    refuse({ node }) {
      const called = findNodes(node, "FuncCall").some((call) =>
        strings(children(call, "funcname")).join(".") === "sys.wait_for_job"
      );
      return called ? "sys.wait_for_job(unknown) is a procedure" : undefined;
    },
  },
  {
    id: "tablesample",
    sure: "L",
    source: "EMU 2026-09-18",
    refuse({ node }) {
      return findNodes(node, "RangeTableSample").length > 0
        ? "TABLESAMPLE clause not supported"
        : undefined;
    },
  },
  {
    id: "locking-clause",
    sure: "L",
    source: "EMU 2026-09-18; FOR KEY SHARE since 2026-08-25 (REL)",
    refuse({ node }) {
      const refused = findNodes(node, "LockingClause").some((clause) =>
        ["LCS_FORSHARE", "LCS_FORNOKEYUPDATE"].includes(getText(clause, "strength"))
      );
      return refused
        ? "locking clauses other than FOR UPDATE/FOR KEY SHARE are not supported"
        : undefined;
    },
  },
  {
    id: "advisory-locks",
    sure: "L",
    source: "LIM 2026-10",
    refuse({ node }) {
      const found = functionNames(node).find(({ name }) => /^pg_(try_)?advisory_/.test(name));
      return found && `function ${found.name} not supported`;
    },
  },
  {
    id: "text-search-configuration",
    sqlstate: "42704",
    sure: "L",
    source: "EMU 2026-09-18",
    refuse({ node }) {
      const found = functionNames(node).some(({ name, call }) =>
        TEXT_SEARCH.test(name) && !SIMPLE.includes(firstArgument(call) ?? "")
      );
      return found ? 'text search configuration "english" does not exist' : undefined;
    },
  },
];
