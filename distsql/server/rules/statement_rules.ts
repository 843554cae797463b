import { child, children, definitions, getText } from "../syntax/syntax_tree.ts";
import type { RefusalRule } from "./rule.ts";
import { listWords } from "../../../sql/list_words.ts";

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

const FIXED_SETTINGS = [
  "role",
  "session_authorization",
  "transaction_isolation",
  "default_transaction_isolation",
];

/** Refusals of whole statements, transaction control and settings. */
export const STATEMENT_RULES: readonly RefusalRule[] = [
  {
    id: "transaction-statement",
    on: ["TransactionStmt"],
    source: "EMU 2026-09-18",
    refuse({ node }) {
      const word = node.chain ? "AND CHAIN" : TRANSACTION_WORDS[getText(node, "kind")];
      return word && `unsupported transaction statement: ${word}`;
    },
  },
  {
    id: "isolation-level",
    on: ["TransactionStmt"],
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
    source: "EMU 2026-09-18",
    text: 'setting configuration parameter "TRANSACTION" not supported',
    when: ({ node }) =>
      ["TRANSACTION", "SESSION CHARACTERISTICS", "TRANSACTION SNAPSHOT"]
        .includes(
          getText(node, "name"),
        ),
  },
  {
    id: "set-fixed-parameter",
    on: ["VariableSetStmt"],
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
    source: "EMU 2026-09-18",
    refuse: ({ type }) => `unsupported statement: ${type.replace(/Stmt$/, "")}`,
  },
  {
    id: "select-into",
    on: ["SelectStmt"],
    source: "EMU 2026-09-18",
    text: "unsupported statement: CreateTableAs",
    when: ({ node }) => Boolean(node.intoClause),
  },
  {
    id: "own-text",
    on: Object.keys(OWN_TEXTS),
    source: "EMU 2026-09-18",
    refuse: ({ type }) => OWN_TEXTS[type],
  },
  {
    id: "unknown-statement",
    source: "EMU 2026-09-18 (Truncate, CreateExtension, Listen, " +
      "AlterSystem and others; the form of the text is the same)",
    refuse: ({ type }) =>
      ACCEPTED.has(type) ? undefined : `unsupported statement: ${type.replace(/Stmt$/, "")}`,
  },
  {
    id: "vacuum",
    on: ["VacuumStmt"],
    source: "EMU 2026-09-18; ANALYZE without a table: FKP 2026-08-28",
    refuse({ node }) {
      if (node.is_vacuumcmd) return "unsupported VACUUM statement";
      return children(node, "rels").length === 0 ? "unsupported ANALYZE statement" : undefined;
    },
  },
  {
    id: "deallocate-name",
    on: ["DeallocateStmt"],
    source: "LINT 2026-08",
    text: "unsupported statement: Deallocate",
    when: ({ node }) => getText(node, "name") !== "",
  },
  {
    id: "copy-file",
    on: ["CopyStmt"],
    source: "LINT 2026-08 (only STDIN and STDOUT; inferred)",
    text: "unsupported statement: Copy",
    when: ({ node }) => Boolean(node.filename || node.is_program),
  },
  {
    id: "newer-syntax",
    sqlstate: "42601",
    source: "EMU 2026-09-18 (version 16; NOT ENFORCED came with PostgreSQL 18; inferred)",
    text: 'syntax error at or near "ENFORCED"',
    when: ({ tokens }) =>
      tokens.some(({ text }, at) =>
        text.toUpperCase() === "ENFORCED" && tokens[at - 1]?.text.toUpperCase() === "NOT"
      ),
  },
];
