import { child, children, getText, type SyntaxNode } from "../syntax/syntax_tree.ts";
import type { Statement } from "../syntax/statements.ts";
import { type Refusal, type RefusalRule, rulesOn } from "./rule.ts";
import { cacheSize, isCacheAccepted } from "./sequence_cache.ts";
import { IDENTITY_CACHE, refuseColumn } from "./table_rules.ts";
import { listWords } from "../../../sql/list_words.ts";

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

function actions({ node }: Statement, ...kinds: string[]): SyntaxNode[] {
  if (getText(node, "objtype") !== "OBJECT_TABLE") return [];
  const all = children(node, "cmds").map((command) => child(command, "AlterTableCmd"));
  return all.filter((action) => kinds.length === 0 || kinds.includes(getText(action, "subtype")));
}

/** Returns the constraints of a type that a statement adds. */
function added(statement: Statement, type: string): SyntaxNode[] {
  return actions(statement).filter((action) => getText(getConstraint(action), "contype") === type);
}

/** Returns the first refusal of an action. */
function getFirst(
  found: readonly SyntaxNode[],
  refuse: (action: SyntaxNode) => string | Refusal | undefined,
): string | Refusal | undefined {
  return found.map(refuse).find((refusal) => refusal !== undefined);
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

function refuseAction(action: SyntaxNode): string | undefined {
  const kind = getText(action, "subtype");
  if (ACCEPTED.has(kind)) return undefined;
  const words = ACTION_WORDS[kind] ??
    kind.replace("AT_", "").replace(/(?<=[a-z])(?=[A-Z])/g, " ").toUpperCase();
  return ROW_SECURITY[kind] ?? `unsupported ALTER TABLE ${words} statement`;
}

function refuseNewColumn(action: SyntaxNode): string | Refusal | undefined {
  const column = child(child(action, "def"), "ColumnDef");
  const refused = refuseColumn({ ...column, constraints: [] });
  if (refused) return refused;
  if (column.collClause) return "COLLATE clause not supported";
  return children(column, "constraints").length > 0
    ? "ALTER TABLE ADD COLUMN with constraint not supported"
    : undefined;
}

/** Refusals of ALTER TABLE. */
export const ALTER_RULES: readonly RefusalRule[] = rulesOn("AlterTableStmt", [
  {
    id: "alter-async",
    sqlstate: "42601",
    source: "AT (ASYNC goes with VALIDATE CONSTRAINT alone; text inferred)",
    text: 'syntax error at or near "ASYNC"',
    when: (statement) =>
      statement.isAsync &&
      actions(statement).length > actions(statement, "AT_ValidateConstraint").length,
  },
  {
    id: "alter-index",
    source: "LINT 2026-08; RENAME is accepted (MTX 2026-08-28); text inferred",
    text: "unsupported statement: AlterIndex",
    when: ({ node }) => getText(node, "objtype") === "OBJECT_INDEX",
  },
  {
    id: "alter-action",
    source: "EMU 2026-09-18, MTX 2026-08-28, SPIKE 2026-09-23",
    refuse: (statement) => getFirst(actions(statement), refuseAction),
  },
  {
    id: "alter-add-column",
    source: "EMU 2026-09-18, SPIKE 2026-09-23",
    refuse: (statement) => getFirst(actions(statement, "AT_AddColumn"), refuseNewColumn),
  },
  {
    id: "alter-drop-column",
    until: "2026-08-03",
    source: "REL 2026-08-03 (accepted from then on; earlier text inferred)",
    text: "unsupported ALTER TABLE DROP COLUMN statement",
    when: (statement) => actions(statement, "AT_DropColumn").length > 0,
  },
  {
    id: "alter-column-default",
    until: "2026-07-20",
    source: "LINT PR 110, 2026-07-20 (accepted from then on; earlier text inferred)",
    text: "unsupported ALTER TABLE ALTER COLUMN statement",
    when: (statement) => actions(statement, "AT_ColumnDefault", "AT_DropNotNull").length > 0,
  },
  {
    id: "alter-add-identity",
    source: "AT, DSB 2026-10-03",
    text: IDENTITY_CACHE,
    when: (statement) =>
      actions(statement, "AT_AddIdentity").some((action) =>
        !isCacheAccepted(cacheSize(children(getConstraint(action), "options")))
      ),
  },
  {
    id: "alter-foreign-key",
    until: "2026-08-26",
    source: "REL 2026-08-26 (NOT VALID accepted from then on; inferred)",
    text: ADD_CONSTRAINT,
    when: (statement) => added(statement, "CONSTR_FOREIGN").length > 0,
  },
  {
    id: "alter-check",
    until: "2026-08-03",
    source: "REL 2026-08-03 (NOT VALID accepted from then on; inferred)",
    text: ADD_CONSTRAINT,
    when: (statement) => added(statement, "CONSTR_CHECK").length > 0,
  },
  {
    id: "alter-add-constraint",
    source: "EMU 2026-09-18, SPIKE 2026-09-23",
    refuse: (statement) =>
      getFirst(actions(statement, "AT_AddConstraint").map(getConstraint), refuseConstraint),
  },
  {
    id: "alter-validate",
    source: "EMU 2026-09-18",
    text: "unsupported ALTER TABLE VALIDATE CONSTRAINT statement",
    when: (statement) =>
      !statement.isAsync && actions(statement, "AT_ValidateConstraint").length > 0,
  },
]);
