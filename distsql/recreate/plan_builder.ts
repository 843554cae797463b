import { sanitizeForDistSql } from "../translate/sanitize.ts";
import { splitStatements } from "../../sql/statement.ts";
import {
  hasConstraint,
  listOwnershipSteps,
  once,
  toRegclass,
  validation,
} from "./catalog_steps.ts";
import { listCommentSteps } from "./comment_steps.ts";
import { constraintDefinition, constraintName, ownsIndex, repeatedKeys } from "./create_table.ts";
import { leaveOldTable, pointToNewTable } from "./incoming_keys.ts";
import type { RecreationPhase, RecreationStep } from "./recreation_plan.ts";
import { temporaryName } from "./temporary_name.ts";
import type { TableConstraint, TableIndex, TableSchema } from "../schema/table_schema.ts";
import { workTable } from "./work_table.ts";
import { qualify, quoteLiteral, quoteName } from "../../sql/quote.ts";

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
  once(phase: RecreationPhase, title: string, sql: string, condition: string): void {
    this.push(once(phase, title, sql, condition));
  }

  /** Returns SQL that checks whether a relation exists in the table's schema. */
  isThere(name: string): string {
    return `${toRegclass(qualify(this.#current.schema, name))} IS NOT NULL`;
  }

  /**
   * Adds keys that CREATE TABLE would omit silently, because another key of the table has the same
   * columns.
   */
  repeatedKeys(): void {
    for (const constraint of repeatedKeys(this.#desired.constraints)) {
      const name = constraintName(constraint, true);
      const { definition } = constraint;
      const sql = `ALTER TABLE ${this.#new} ADD CONSTRAINT ${quoteName(name)} ${definition}`;
      if (this.#current.dialect !== "distsql") {
        this.#addConstraint(constraint.name, sql, name);
        continue;
      }
      const [index, takeOver] = splitStatements(sanitizeForDistSql(sql) ?? sql);
      this.#index(name, constraint.name, index.text);
      this.#addConstraint(constraint.name, takeOver.text, name);
    }
  }

  /** Adds a constraint of the new table, until the swap possibly under a temporary name. */
  #addConstraint(finalName: string, sql: string, name: string = finalName): void {
    this.once("before", `add constraint ${finalName}`, sql, hasConstraint(this.#new, name));
  }

  /** Adds an index under its temporary name, until the final name is free. */
  #index(name: string, finalName: string, sql: string): void {
    const index = qualify(this.#current.schema, name);
    const oid = toRegclass(index);
    const isValid = `EXISTS (SELECT FROM pg_index WHERE indexrelid = ${oid} AND indisvalid)`;
    this.push({
      ...once("before", `build index ${finalName}`, sql, isValid),
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
      const kind = index.unique ? "UNIQUE INDEX" : "INDEX";
      const create = `CREATE ${kind} ${quoteName(name)} ON ${this.#new} ${definition}`;
      this.#index(name, index.name, isDistSql ? sanitizeForDistSql(create) ?? create : create);
    }
  }

  /** Adds CHECK constraints that existing rows need not satisfy. */
  looseChecks(): void {
    for (const { name, type, validated, definition } of this.#desired.constraints) {
      if (type === "foreign_key" || validated) continue;
      const added = `${quoteName(name)} ${definition} NOT VALID`;
      this.#addConstraint(name, `ALTER TABLE ${this.#new} ADD CONSTRAINT ${added}`);
    }
  }

  /** Adds the table's own foreign keys. */
  foreignKeys(): void {
    for (const constraint of this.#desired.constraints) {
      if (constraint.type !== "foreign_key") continue;
      const { name, validated } = constraint;
      const definition = constraintDefinition(constraint, this.#desired, this.newName);
      const added = `ADD CONSTRAINT ${quoteName(name)} ${definition} NOT VALID`;
      const sql = `ALTER TABLE ${this.#new} ${added}`;
      this.once("before", `add foreign key ${name}`, sql, hasConstraint(this.#new, name));
      if (validated) this.push(validation("before", this.#new, name, this.#current.dialect));
    }
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
    const isOther = `oid = ${oid} AND relname <> ${quoteLiteral(name)}`;
    const done = `EXISTS (SELECT FROM pg_class WHERE ${isOther})`;
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
    this.once("frozen", "rename the new table", sql, `${toRegclass(this.#new)} IS NULL`);
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
      const done = "EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND " +
        `objid = ${toRegclass(sequence)} AND refobjid = ${toRegclass(this.#final)} ` +
        "AND deptype = 'a')";
      const sql = `ALTER SEQUENCE ${sequence} OWNED BY ${this.#final}.${quoteName(column)}`;
      this.once("after", `keep the sequence ${name}`, sql, done);
    }
  }

  /** Drops the old table. */
  dropOld(): void {
    const { oid = "0" } = this.#current;
    const done = `NOT EXISTS (SELECT FROM pg_class WHERE oid = ${oid})`;
    this.once("after", "drop the old table", `DROP TABLE ${this.#old}`, done);
  }

  /** Renames a constraint to its final name, which is free now. */
  renameConstraint(constraint: TableConstraint, temporary: string): void {
    if (!ownsIndex(constraint)) return;
    const { name } = constraint;
    const rename = `RENAME CONSTRAINT ${quoteName(temporary)} TO ${quoteName(name)}`;
    const done = `NOT ${hasConstraint(this.#final, temporary)}`;
    this.once("after", `name ${name}`, `ALTER TABLE ${this.#final} ${rename}`, done);
  }

  /** Renames an index to its final name, which is free now. */
  renameIndex({ name, valid }: TableIndex): void {
    if (!valid) return;
    const temporary = qualify(this.#current.schema, temporaryName(name, "new"));
    const sql = `ALTER INDEX ${temporary} RENAME TO ${quoteName(name)}`;
    this.once("after", `name ${name}`, sql, `${toRegclass(temporary)} IS NULL`);
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
    const work = workTable(schema, name);
    const isGone = `${toRegclass(work)} IS NULL`;
    this.once("after", "delete the stored plan", `DROP TABLE ${work}`, isGone);
  }
}
