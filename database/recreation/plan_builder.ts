import { sanitizeForDistSql } from "../distsql/sanitize.ts";
import { splitStatements } from "../distsql/statement.ts";
import { hasConstraint, once, validation } from "./catalog_steps.ts";
import { listCommentSteps } from "./comment_steps.ts";
import { constraintDefinition, constraintName, ownsIndex, repeatedKeys } from "./create_table.ts";
import { leaveOldTable, pointToNewTable } from "./incoming_keys.ts";
import { listOwnershipSteps } from "./ownership_steps.ts";
import type { RecreationPhase, RecreationStep } from "./recreation_plan.ts";
import { temporaryName } from "./sql_text.ts";
import type { TableConstraint, TableIndex, TableSchema } from "./table_schema.ts";
import { workTable } from "./work_table.ts";
import { qualify, quoteLiteral, quoteName } from "../sql/quote.ts";

/** Builder of a plan's steps, each with a catalog query which checks whether it is done. */
export class PlanBuilder {
  /** Steps so far. */
  readonly steps: RecreationStep[] = [];
  /** Temporary name of the new table. */
  readonly newName: string;
  readonly #current: TableSchema;
  readonly #desired: TableSchema;
  readonly #new: string;
  readonly #old: string;
  readonly #final: string;

  /**
   * @param current The current table.
   * @param desired The desired table.
   */
  constructor(current: TableSchema, desired: TableSchema) {
    const { schema, name } = current;
    this.#current = current;
    this.#desired = desired;
    this.newName = temporaryName(name, "new");
    this.#new = qualify(schema, this.newName);
    this.#old = qualify(schema, temporaryName(name, "old"));
    this.#final = qualify(schema, name);
  }

  /** Adds a step. */
  push(step: RecreationStep): void {
    this.steps.push(step);
  }

  /** Adds a statement with its check. */
  once(phase: RecreationPhase, title: string, sql: string, done: string): void {
    this.push(once(phase, title, sql, done));
  }

  /** Returns SQL that checks whether a relation exists in the table's schema. */
  isThere(name: string): string {
    return `SELECT to_regclass(${
      quoteLiteral(qualify(this.#current.schema, name))
    }) IS NOT NULL AS done`;
  }

  /**
   * Adds keys that CREATE TABLE would omit silently, because another key of the table has the same
   * columns.
   */
  repeatedKeys(): void {
    for (const constraint of repeatedKeys(this.#desired.constraints)) {
      const name = constraintName(constraint, true);
      const sql = `ALTER TABLE ${this.#new} ADD CONSTRAINT ${
        quoteName(name)
      } ${constraint.definition}`;
      const done = `SELECT ${hasConstraint(this.#new, name)} AS done`;
      if (this.#current.dialect !== "distsql") {
        this.once("before", `add constraint ${constraint.name}`, sql, done);
        continue;
      }
      const [index, takeOver] = splitStatements(sanitizeForDistSql(sql) ?? sql);
      this.#index(name, constraint.name, index.text);
      this.once("before", `add constraint ${constraint.name}`, takeOver.text, done);
    }
  }

  /** Adds an index under its temporary name, until the final name is free. */
  #index(name: string, finalName: string, sql: string): void {
    const index = qualify(this.#current.schema, name);
    const isValid = `SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass(${
      quoteLiteral(index)
    }) AND indisvalid) AS done`;
    this.push({
      kind: "statement",
      phase: "before",
      title: `build index ${finalName}`,
      sql,
      done: isValid,
      ...this.#current.dialect === "distsql"
        ? { job: { kind: "index", name, table: this.#new } }
        : {},
      undo: { index, sql: `DROP INDEX IF EXISTS ${index}` },
    });
  }

  /** Adds storage, compression and statistics settings of columns. */
  columnSettings(): void {
    const actions = this.#desired.columns.flatMap(({ name, settings = [] }) =>
      settings.map((setting) => `ALTER COLUMN ${quoteName(name)} ${setting}`)
    );
    if (actions.length === 0) return;
    const sql = `ALTER TABLE ${this.#new} ${actions.join(", ")}`;
    this.push({ kind: "statement", phase: "before", title: "set column options", sql });
  }

  /** Adds indexes that belong to no constraint, under temporary names. */
  indexes(): void {
    const isDistSql = this.#current.dialect === "distsql";
    for (const index of this.#desired.indexes) {
      if (!index.valid) continue;
      const name = temporaryName(index.name, "new");
      // the provider reports its own index method, but does not accept one in CREATE INDEX
      const definition = isDistSql
        ? index.definition.replace(/^USING\s+\S+\s*/i, "")
        : index.definition;
      const create = `CREATE ${index.unique ? "UNIQUE " : ""}INDEX ${
        quoteName(name)
      } ON ${this.#new} ${definition}`;
      this.#index(name, index.name, isDistSql ? sanitizeForDistSql(create) ?? create : create);
    }
  }

  /** Adds CHECK constraints that existing rows need not satisfy. */
  looseChecks(): void {
    for (const { name, type, validated, definition } of this.#desired.constraints) {
      if (type === "foreign_key" || validated) continue;
      const sql = `ALTER TABLE ${this.#new} ADD CONSTRAINT ${
        quoteName(name)
      } ${definition} NOT VALID`;
      this.once(
        "before",
        `add constraint ${name}`,
        sql,
        `SELECT ${hasConstraint(this.#new, name)} AS done`,
      );
    }
  }

  /** Adds the table's own foreign keys. */
  foreignKeys(): void {
    for (const constraint of this.#desired.constraints) {
      if (constraint.type !== "foreign_key") continue;
      const definition = constraintDefinition(constraint, this.#desired, this.newName);
      this.#addForeignKey("before", this.#new, constraint.name, definition);
      if (constraint.validated) {
        this.push(validation("before", this.#new, constraint.name, this.#current.dialect));
      }
    }
  }

  #addForeignKey(phase: RecreationPhase, table: string, name: string, definition: string): void {
    const sql = `ALTER TABLE ${table} ADD CONSTRAINT ${quoteName(name)} ${definition} NOT VALID`;
    this.once(
      phase,
      `add foreign key ${name}`,
      sql,
      `SELECT ${hasConstraint(table, name)} AS done`,
    );
  }

  /** Adds comments on the table and its parts. */
  comments(): void {
    this.steps.push(...listCommentSteps(this.#desired, this.#new, this.#current.schema));
  }

  /** Adds the owner and the grants. */
  ownerAndGrants(): void {
    this.steps.push(...listOwnershipSteps(this.#desired, this.#new));
  }

  /** Renames the old table. From here on nothing can write to it. */
  renameAway(): void {
    const { oid = "0", name } = this.#current;
    const sql = `ALTER TABLE ${this.#final} RENAME TO ${quoteName(temporaryName(name, "old"))}`;
    const done = `SELECT relname <> ${quoteLiteral(name)} AS done FROM pg_class WHERE oid = ${oid}`;
    this.once("before", "rename the old table", sql, done);
  }

  /**
   * Sets the positions of identity columns; a new identity starts at its start value, as in
   * PostgreSQL.
   */
  positions(): void {
    for (const { name, identity, added, source } of this.#desired.columns) {
      const before = this.#current.columns.find((column) => column.name === (source ?? name));
      if (identity === undefined || added === true || before?.identity === undefined) continue;
      const { schema, name: sequence, increment } = identity.sequence ?? {};
      this.push({
        kind: "position",
        phase: "frozen",
        title: `set the position of ${name}`,
        column: name,
        ...sequence === undefined
          ? {}
          : { sequence: { schema: schema!, name: sequence, increment: increment! } },
      });
    }
  }

  /** Renames the new table to its final name. */
  takeName(): void {
    const { name } = this.#current;
    const sql = `ALTER TABLE ${this.#new} RENAME TO ${quoteName(name)}`;
    const done = `SELECT to_regclass(${quoteLiteral(this.#new)}) IS NULL AS done`;
    this.once("frozen", "rename the new table", sql, done);
  }

  /**
   * Adds the foreign keys of other tables to the new table before it gets its name, so that
   * references are always checked.
   */
  newIncomingKeys(): void {
    for (const step of pointToNewTable(this.#current, this.#desired, this.newName)) this.push(step);
  }

  /**
   * Drops the foreign keys to the old table; their replacements get their names and are validated.
   */
  oldIncomingKeys(): void {
    for (const step of leaveOldTable(this.#current, this.#desired)) this.push(step);
  }

  /** Detaches sequences of serial columns, which would be dropped with the old table. */
  ownedSequences(): void {
    for (const { schema, name, column } of this.#desired.sequences ?? []) {
      const sequence = qualify(schema, name);
      const done =
        `SELECT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = to_regclass(${
          quoteLiteral(sequence)
        }) AND refobjid = to_regclass(${quoteLiteral(this.#final)}) AND deptype = 'a') AS done`;
      const sql = `ALTER SEQUENCE ${sequence} OWNED BY ${this.#final}.${quoteName(column)}`;
      this.once("after", `keep the sequence ${name}`, sql, done);
    }
  }

  /** Drops the old table. */
  dropOld(): void {
    const { oid = "0" } = this.#current;
    const done = `SELECT NOT EXISTS (SELECT FROM pg_class WHERE oid = ${oid}) AS done`;
    this.once("after", "drop the old table", `DROP TABLE ${this.#old}`, done);
  }

  /** Renames a constraint to its final name, which is free now. */
  renameConstraint(constraint: TableConstraint, temporary: string): void {
    if (!ownsIndex(constraint)) return;
    const sql = `ALTER TABLE ${this.#final} RENAME CONSTRAINT ${quoteName(temporary)} TO ${
      quoteName(constraint.name)
    }`;
    const done = `SELECT NOT ${hasConstraint(this.#final, temporary)} AS done`;
    this.once("after", `name ${constraint.name}`, sql, done);
  }

  /** Renames an index to its final name, which is free now. */
  renameIndex({ name, valid }: TableIndex): void {
    if (!valid) return;
    const temporary = qualify(this.#current.schema, temporaryName(name, "new"));
    const done = `SELECT to_regclass(${quoteLiteral(temporary)}) IS NULL AS done`;
    this.once(
      "after",
      `name ${name}`,
      `ALTER INDEX ${temporary} RENAME TO ${quoteName(name)}`,
      done,
    );
  }

  /** Renames sequences to their final names, which are free now. */
  renameSequences(): void {
    for (const { name: column, identity } of this.#desired.columns) {
      const name = identity?.sequence?.name ?? identity?.name;
      if (name === undefined) continue;
      this.push({ kind: "rename_sequence", phase: "after", title: `name ${name}`, column, name });
    }
  }

  /** Drops the work table. */
  dropWork(): void {
    const { schema, name } = this.#current;
    this.once(
      "after",
      "delete the stored plan",
      `DROP TABLE ${workTable(schema, name)}`,
      `SELECT to_regclass(${quoteLiteral(workTable(schema, name))}) IS NULL AS done`,
    );
  }
}
