import { child, children, getText, type SyntaxNode } from "../syntax_tree.ts";
import type { Statement } from "../statements.ts";
import type { Refusal, RefusalRule } from "./rule.ts";
import { cacheSize, isCacheAccepted } from "./sequence_cache.ts";
import { IDENTITY_CACHE, refuseColumn } from "./table_rules.ts";
import { listWords } from "../../../database/distsql/list_words.ts";

/** Actions of ALTER TABLE that the provider accepts (AT, EMU; state of 2026-09). */
const ACCEPTED = new Set(listWords(`
  AT_AddColumn AT_DropColumn AT_ColumnDefault AT_DropNotNull AT_AddIdentity
  AT_SetIdentity AT_DropIdentity AT_DropExpression AT_SetStorage AT_ChangeOwner
  AT_EnableTrigAll AT_EnableTrigUser AT_DisableTrigAll AT_DisableTrigUser
  AT_AddConstraint AT_DropConstraint AT_ValidateConstraint AT_AlterConstraint
`));

/** Words of rejected actions, for the text `unsupported ALTER TABLE … statement`. */
const ACTION_WORDS: Record<string, string> = {
  AT_AlterColumnType: "ALTER COLUMN ... SET DATA TYPE",
  AT_SetNotNull: "ALTER COLUMN ... SET NOT NULL",
  AT_SetStatistics: "ALTER COLUMN ... SET STATISTICS",
  AT_SetCompression: "ALTER COLUMN ... SET COMPRESSION",
  AT_ReplicaIdentity: "REPLICA IDENTITY",
  AT_ClusterOn: "CLUSTER ON",
  AT_SetTableSpace: "SET TABLESPACE",
  AT_SetRelOptions: "SET",
  AT_AddInherit: "INHERIT",
  AT_AttachPartition: "ATTACH PARTITION",
};

/** Texts without the word "statement" at the end. */
const ROW_SECURITY: Record<string, string> = {
  AT_EnableRowSecurity: "unsupported ALTER TABLE ENABLE ROW SECURITY",
  AT_DisableRowSecurity: "unsupported ALTER TABLE DISABLE ROW SECURITY",
  AT_ForceRowSecurity: "unsupported ALTER TABLE FORCE ROW SECURITY",
};

const ADD_CONSTRAINT = "unsupported ALTER TABLE ADD CONSTRAINT statement";

function actions(statement: Statement): SyntaxNode[] {
  if (getText(statement.node, "objtype") !== "OBJECT_TABLE") return [];
  return children(statement.node, "cmds").map((command) => child(command, "AlterTableCmd"));
}

function getFirst<T>(
  statement: Statement,
  look: (action: SyntaxNode, kind: string) => T | undefined,
): T | undefined {
  for (const action of actions(statement)) {
    const found = look(action, getText(action, "subtype"));
    if (found !== undefined) return found;
  }
}

/** Creates the check of the actions of some kinds. */
function refuseActions(
  kinds: readonly string[],
  look: (action: SyntaxNode, statement: Statement) => string | Refusal | undefined,
): RefusalRule["refuse"] {
  return (statement) =>
    getFirst(
      statement,
      (action, kind) => kinds.includes(kind) ? look(action, statement) : undefined,
    );
}

/** Creates the check of added constraints of a type. */
function refuseAdded(type: string): RefusalRule["refuse"] {
  return (statement) =>
    getFirst(
      statement,
      (action) => getText(getConstraint(action), "contype") === type ? ADD_CONSTRAINT : undefined,
    );
}

function getConstraint(action: SyntaxNode): SyntaxNode {
  return child(child(action, "def"), "Constraint");
}

function refuseConstraint(constraint: SyntaxNode): string | Refusal | undefined {
  const kind = getText(constraint, "contype");
  if (["CONSTR_CHECK", "CONSTR_FOREIGN", "CONSTR_NOTNULL"].includes(kind)) {
    return constraint.skip_validation ? undefined : ADD_CONSTRAINT;
  }
  if (kind === "CONSTR_UNIQUE" && constraint.indexname) {
    return constraint.deferrable ? "DEFERRABLE constraint not supported" : undefined;
  }
  return ADD_CONSTRAINT;
}

function refuseNewColumn(column: SyntaxNode): string | Refusal | undefined {
  const refused = refuseColumn({ ...column, constraints: [] });
  if (refused) return refused;
  if (column.collClause) return "COLLATE clause not supported";
  return children(column, "constraints").length > 0
    ? "ALTER TABLE ADD COLUMN with constraint not supported"
    : undefined;
}

/** Refusals of ALTER TABLE. */
export const ALTER_RULES: readonly RefusalRule[] = [
  {
    id: "alter-async",
    on: ["AlterTableStmt"],
    sqlstate: "42601",
    sure: "I",
    source: "AT (ASYNC goes with VALIDATE CONSTRAINT alone; text inferred)",
    refuse(statement) {
      if (!statement.isAsync) return undefined;
      const isValidation = actions(statement).every((action) =>
        getText(action, "subtype") === "AT_ValidateConstraint"
      );
      return isValidation ? undefined : 'syntax error at or near "ASYNC"';
    },
  },
  {
    id: "alter-index",
    on: ["AlterTableStmt"],
    sure: "T",
    source: "LINT 2026-08; RENAME is accepted (MTX 2026-08-28); text inferred",
    refuse({ node }) {
      return getText(node, "objtype") === "OBJECT_INDEX"
        ? "unsupported statement: AlterIndex"
        : undefined;
    },
  },
  {
    id: "alter-action",
    on: ["AlterTableStmt"],
    sure: "L",
    source: "EMU 2026-09-18, MTX 2026-08-28, SPIKE 2026-09-23",
    refuse(statement) {
      return getFirst(statement, (_action, kind) => {
        if (ACCEPTED.has(kind)) return undefined;
        const words = ACTION_WORDS[kind] ??
          kind.replace("AT_", "").replace(/(?<=[a-z])(?=[A-Z])/g, " ").toUpperCase();
        return ROW_SECURITY[kind] ?? `unsupported ALTER TABLE ${words} statement`;
      });
    },
  },
  {
    id: "alter-add-column",
    on: ["AlterTableStmt"],
    sure: "L",
    source: "EMU 2026-09-18, SPIKE 2026-09-23",
    refuse: refuseActions(
      ["AT_AddColumn"],
      (action) => refuseNewColumn(child(child(action, "def"), "ColumnDef")),
    ),
  },
  {
    id: "alter-drop-column",
    on: ["AlterTableStmt"],
    until: "2026-08-03",
    sure: "I",
    source: "REL 2026-08-03 (accepted from then on; earlier text inferred)",
    refuse: refuseActions(["AT_DropColumn"], () => "unsupported ALTER TABLE DROP COLUMN statement"),
  },
  {
    id: "alter-column-default",
    on: ["AlterTableStmt"],
    until: "2026-07-20",
    sure: "I",
    source: "LINT PR 110, 2026-07-20 (accepted from then on; earlier text inferred)",
    refuse: refuseActions(
      ["AT_ColumnDefault", "AT_DropNotNull"],
      () => "unsupported ALTER TABLE ALTER COLUMN statement",
    ),
  },
  {
    id: "alter-add-identity",
    on: ["AlterTableStmt"],
    sure: "D",
    source: "AT, DSB 2026-10-03",
    refuse: refuseActions(["AT_AddIdentity"], (action) => {
      const options = children(getConstraint(action), "options");
      return isCacheAccepted(cacheSize(options)) ? undefined : IDENTITY_CACHE;
    }),
  },
  {
    id: "alter-foreign-key",
    on: ["AlterTableStmt"],
    until: "2026-08-26",
    sure: "I",
    source: "REL 2026-08-26 (NOT VALID accepted from then on)",
    refuse: refuseAdded("CONSTR_FOREIGN"),
  },
  {
    id: "alter-check",
    on: ["AlterTableStmt"],
    until: "2026-08-03",
    sure: "I",
    source: "REL 2026-08-03 (NOT VALID accepted from then on)",
    refuse: refuseAdded("CONSTR_CHECK"),
  },
  {
    id: "alter-add-constraint",
    on: ["AlterTableStmt"],
    sure: "L",
    source: "EMU 2026-09-18, SPIKE 2026-09-23",
    refuse: refuseActions(
      ["AT_AddConstraint"],
      (action) => refuseConstraint(getConstraint(action)),
    ),
  },
  {
    id: "alter-validate",
    on: ["AlterTableStmt"],
    sure: "L",
    source: "EMU 2026-09-18",
    refuse: refuseActions(
      ["AT_ValidateConstraint"],
      (_action, { isAsync }) =>
        isAsync ? undefined : "unsupported ALTER TABLE VALIDATE CONSTRAINT statement",
    ),
  },
];
