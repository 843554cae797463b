import { qualify, quoteLiteral, quoteName } from "../../sql/quote.ts";
import { splitStatements } from "../../sql/statement.ts";
import { hasIndex } from "../schema/declared_schema.ts";
import { formatForeignKey, parseForeignKey } from "../schema/foreign_key.ts";
import type { TableSchema } from "../schema/table_schema.ts";
import { sanitizeForDistSql } from "../translate/sanitize.ts";
import { hasConstraint, once, toRegclass, validation } from "./catalog_steps.ts";
import { constraintDefinition, constraintName, repeatedKeys } from "./create_table.ts";
import type { RecreationStep } from "./recreation_plan.ts";
import { temporaryName } from "./temporary_name.ts";
import { workTable } from "./work_table.ts";

/** Both tables of a recreation, with their names. */
export interface RecreatedTables {
  /** The current table. */
  readonly current: TableSchema;
  /** The desired table. */
  readonly desired: TableSchema;
  /** Temporary name of the new table. */
  readonly newName: string;
  /** New table before its rename, quoted. */
  readonly new: string;
  /** Old table after its rename, quoted. */
  readonly old: string;
  /** Final name, quoted. */
  readonly final: string;
}

/** Names the tables of a recreation. */
export function nameTables(current: TableSchema, desired: TableSchema): RecreatedTables {
  const { schema, name } = current;
  const newName = temporaryName(name, "new");
  return {
    current,
    desired,
    newName,
    new: qualify(schema, newName),
    old: qualify(schema, temporaryName(name, "old")),
    final: qualify(schema, name),
  };
}

/** Returns SQL that checks whether a relation exists. */
export function isThere(schema: string | undefined, name: string): string {
  return `${toRegclass(qualify(schema, name))} IS NOT NULL`;
}

/**
 * Adds keys that CREATE TABLE would omit silently, because another key of the table has the same
 * columns.
 */
export function addRepeatedKeys(tables: RecreatedTables): RecreationStep[] {
  const { current, desired } = tables;
  return repeatedKeys(desired.constraints).flatMap((constraint) => {
    const { name, definition } = constraint;
    const temporary = constraintName(constraint, true);
    const sql = `ALTER TABLE ${tables.new} ADD CONSTRAINT ${quoteName(temporary)} ${definition}`;
    if (current.dialect !== "distsql") return [addConstraint(tables, name, sql, temporary)];
    const [index, takeOver] = splitStatements(sanitizeForDistSql(sql) ?? sql);
    return [
      buildIndex(tables, temporary, name, index.text),
      addConstraint(tables, name, takeOver.text, temporary),
    ];
  });
}

/** Adds a constraint of the new table, until the swap possibly under a temporary name. */
function addConstraint(
  tables: RecreatedTables,
  finalName: string,
  sql: string,
  name: string = finalName,
): RecreationStep {
  return once("before", `add constraint ${finalName}`, sql, hasConstraint(tables.new, name));
}

/** Adds an index under its temporary name, until the final name is free. */
function buildIndex(
  { current, new: table }: RecreatedTables,
  name: string,
  finalName: string,
  sql: string,
): RecreationStep {
  const index = qualify(current.schema, name);
  const oid = toRegclass(index);
  const isValid = `EXISTS (SELECT FROM pg_index WHERE indexrelid = ${oid} AND indisvalid)`;
  return {
    ...once("before", `build index ${finalName}`, sql, isValid),
    ...current.dialect === "distsql" ? { job: { kind: "index", name, table } } : {},
    undo: { index, sql: `DROP INDEX IF EXISTS ${index}` },
  };
}

/** Adds storage, compression and statistics settings of columns. */
export function setColumnOptions(
  { current, desired, new: table }: RecreatedTables,
): RecreationStep[] {
  const actions = desired.columns.flatMap(({ name, settings = [] }) =>
    settings.map((setting) => `ALTER COLUMN ${quoteName(name)} ${setting}`)
  );
  // the distributed-SQL provider has no such settings, and the translation omits them
  if (actions.length === 0 || current.dialect === "distsql") return [];
  const sql = `ALTER TABLE ${table} ${actions.join(", ")}`;
  return [{ kind: "statement", phase: "before", title: "set column options", sql }];
}

/** Adds indexes that belong to no constraint, under temporary names. */
export function buildIndexes(tables: RecreatedTables): RecreationStep[] {
  const isDistSql = tables.current.dialect === "distsql";
  return tables.desired.indexes.filter(({ valid }) => valid).map((index) => {
    const name = temporaryName(index.name, "new");
    // the provider reports its own index method, but does not accept one in CREATE INDEX
    const definition = isDistSql
      ? index.definition.replace(/^USING\s+\S+\s*/i, "")
      : index.definition;
    const kind = index.unique ? "UNIQUE INDEX" : "INDEX";
    const create = `CREATE ${kind} ${quoteName(name)} ON ${tables.new} ${definition}`;
    const sql = isDistSql ? sanitizeForDistSql(create) ?? create : create;
    return buildIndex(tables, name, index.name, sql);
  });
}

/** Adds CHECK constraints that existing rows need not satisfy. */
export function addLooseChecks(tables: RecreatedTables): RecreationStep[] {
  return tables.desired.constraints.filter(({ type, validated }) =>
    type !== "foreign_key" && !validated
  ).map(({ name, definition }) => {
    const added = `${quoteName(name)} ${definition} NOT VALID`;
    return addConstraint(tables, name, `ALTER TABLE ${tables.new} ADD CONSTRAINT ${added}`);
  });
}

/** Adds the table's own foreign keys. */
export function addForeignKeys({ current, desired, ...tables }: RecreatedTables): RecreationStep[] {
  const keys = desired.constraints.filter(({ type }) => type === "foreign_key");
  return keys.flatMap((constraint) => {
    const { name, validated } = constraint;
    const definition = constraintDefinition(constraint, desired, tables.newName);
    const added = `ADD CONSTRAINT ${quoteName(name)} ${definition} NOT VALID`;
    const sql = `ALTER TABLE ${tables.new} ${added}`;
    return [
      once("before", `add foreign key ${name}`, sql, hasConstraint(tables.new, name)),
      ...validated ? [validation("before", tables.new, name, current.dialect)] : [],
    ];
  });
}

/** Renames the old table. From here on nothing can write to it. */
export function renameOldTable({ current, final }: RecreatedTables): RecreationStep {
  const { oid = "0", name } = current;
  const sql = `ALTER TABLE ${final} RENAME TO ${quoteName(temporaryName(name, "old"))}`;
  const isOther = `oid = ${oid} AND relname <> ${quoteLiteral(name)}`;
  const done = `EXISTS (SELECT FROM pg_class WHERE ${isOther})`;
  return once("before", "rename the old table", sql, done);
}

/**
 * Sets the positions of identity columns; a new identity starts at its start value, as in
 * PostgreSQL.
 */
export function setPositions({ current, desired }: RecreatedTables): RecreationStep[] {
  return desired.columns.flatMap(({ name, identity, added, source }): RecreationStep[] => {
    const before = current.columns.find((column) => column.name === (source ?? name));
    if (identity === undefined || added === true || before?.identity === undefined) return [];
    const { schema, name: sequence, increment } = identity.sequence ?? {};
    return [{
      kind: "position",
      phase: "frozen",
      title: `set the position of ${name}`,
      column: name,
      ...sequence === undefined
        ? {}
        : { sequence: { schema: schema!, name: sequence, increment: increment! } },
    }];
  });
}

/** Renames the new table to its final name. */
export function renameNewTable({ current, new: table }: RecreatedTables): RecreationStep {
  const sql = `ALTER TABLE ${table} RENAME TO ${quoteName(current.name)}`;
  return once("frozen", "rename the new table", sql, `${toRegclass(table)} IS NULL`);
}

/** Detaches sequences of serial columns, which would be dropped with the old table. */
export function keepSequences({ desired, final }: RecreatedTables): RecreationStep[] {
  return (desired.sequences ?? []).map(({ schema, name, column }) => {
    const sequence = qualify(schema, name);
    const done = "EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND " +
      `objid = ${toRegclass(sequence)} AND refobjid = ${toRegclass(final)} AND deptype = 'a')`;
    const sql = `ALTER SEQUENCE ${sequence} OWNED BY ${final}.${quoteName(column)}`;
    return once("after", `keep the sequence ${name}`, sql, done);
  });
}

/** Drops the old table. */
export function dropOldTable({ current: { oid = "0" }, old }: RecreatedTables): RecreationStep {
  const done = `NOT EXISTS (SELECT FROM pg_class WHERE oid = ${oid})`;
  return once("after", "drop the old table", `DROP TABLE ${old}`, done);
}

/** Renames constraints, indexes and sequences to their final names, which are free now. */
export function renameObjects({ current, desired, final }: RecreatedTables): RecreationStep[] {
  const keys = desired.constraints.filter(({ type }) => hasIndex(type));
  return [
    ...keys.map((constraint) => {
      const { name } = constraint;
      const temporary = constraintName(constraint, true);
      const rename = `RENAME CONSTRAINT ${quoteName(temporary)} TO ${quoteName(name)}`;
      const done = `NOT ${hasConstraint(final, temporary)}`;
      return once("after", `name ${name}`, `ALTER TABLE ${final} ${rename}`, done);
    }),
    ...desired.indexes.filter(({ valid }) => valid).map(({ name }) => {
      const temporary = qualify(current.schema, temporaryName(name, "new"));
      const sql = `ALTER INDEX ${temporary} RENAME TO ${quoteName(name)}`;
      return once("after", `name ${name}`, sql, `${toRegclass(temporary)} IS NULL`);
    }),
    ...desired.columns.flatMap(({ name: column, identity }): RecreationStep[] => {
      const name = identity?.sequence?.name ?? identity?.name;
      if (name === undefined) return [];
      return [{ kind: "rename_sequence", phase: "after", title: `name ${name}`, column, name }];
    }),
  ];
}

/** Drops the work table. */
export function dropWorkTable({ current: { schema, name } }: RecreatedTables): RecreationStep {
  const work = workTable(schema, name);
  const isGone = `${toRegclass(work)} IS NULL`;
  return once("after", "delete the stored plan", `DROP TABLE ${work}`, isGone);
}

/**
 * Lists the steps that comment on a new table and its parts.
 *
 * @param desired The desired table.
 * @param newTable The new table as SQL.
 * @param schema Schema of its indexes.
 */
export function listCommentSteps(
  desired: TableSchema,
  newTable: string,
  schema: string | undefined,
): RecreationStep[] {
  const steps: RecreationStep[] = [];
  /** Adds the comment on an object; `found` is a query for its present comment. */
  function add(title: string, object: string, text: string, found: string): void {
    const comment = quoteLiteral(text);
    const sql = `COMMENT ON ${object} IS ${comment}`;
    steps.push(once("before", title, sql, `coalesce((${found}) = ${comment}, false)`));
  }
  const { comment, columns, constraints, indexes } = desired;
  const table = toRegclass(newTable);
  if (comment !== undefined) {
    const found = `SELECT obj_description(${table}, 'pg_class')`;
    add("comment on the table", `TABLE ${newTable}`, comment, found);
  }
  for (const { name, comment } of columns) {
    if (comment === undefined) continue;
    const found = "SELECT col_description(attrelid, attnum) FROM pg_attribute WHERE " +
      `attrelid = ${table} AND attname = ${quoteLiteral(name)}`;
    add(`comment on column ${name}`, `COLUMN ${newTable}.${quoteName(name)}`, comment, found);
  }
  for (const constraint of constraints) {
    if (constraint.comment === undefined) continue;
    const name = hasIndex(constraint.type)
      ? temporaryName(constraint.name, "new")
      : constraint.name;
    const object = `CONSTRAINT ${quoteName(name)} ON ${newTable}`;
    const found = "SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE " +
      `conrelid = ${table} AND conname = ${quoteLiteral(name)}`;
    add(`comment on constraint ${constraint.name}`, object, constraint.comment, found);
  }
  for (const { name, comment, valid } of indexes) {
    if (comment === undefined || !valid) continue;
    const index = qualify(schema, temporaryName(name, "new"));
    const found = `SELECT obj_description(${toRegclass(index)}, 'pg_class')`;
    add(`comment on index ${name}`, `INDEX ${index}`, comment, found);
  }
  return steps;
}

/**
 * Creates the foreign keys of other tables on the new table, before it gets its final name.
 *
 * @param current The current table.
 * @param desired The desired table.
 * @param newName Temporary name of the new table.
 */
export function pointToNewTable(
  current: TableSchema,
  desired: TableSchema,
  newName: string,
): RecreationStep[] {
  const { oid = "0", schema } = current;
  return (desired.referencedBy ?? []).map((key) => {
    const child = qualify(key.from.schema, key.from.table);
    const temporary = temporaryName(key.name, "new");
    const definition = formatForeignKey({
      ...parseForeignKey(key.definition),
      schema,
      table: newName,
    });
    const isNew = hasConstraint(child, key.name, ` AND confrelid <> ${oid}`);
    return once(
      "frozen",
      `let ${key.name} of ${key.from.table} also reference the new table`,
      `ALTER TABLE ${child} ADD CONSTRAINT ${quoteName(temporary)} ${definition} NOT VALID`,
      `${hasConstraint(child, temporary)} OR ${isNew}`,
    );
  });
}

/**
 * Drops the foreign keys to the old table. Their replacements on the new table then get their names
 * and are validated.
 *
 * @param current The current table.
 * @param desired The desired table.
 */
export function leaveOldTable(current: TableSchema, desired: TableSchema): RecreationStep[] {
  const { oid = "0", dialect } = current;
  const kept = new Map((desired.referencedBy ?? []).map((key) => [getKey(key), key]));
  return (current.referencedBy ?? []).flatMap((before) => {
    const { name, from } = before;
    const child = qualify(from.schema, from.table);
    const toOld = hasConstraint(child, name, ` AND confrelid = ${oid}`);
    const drop = `ALTER TABLE ${child} DROP CONSTRAINT ${quoteName(name)}`;
    const steps = [once("after", `drop ${name} on the old table`, drop, `NOT ${toOld}`)];
    const key = kept.get(getKey(before));
    if (key === undefined) return steps;
    const temporary = temporaryName(name, "new");
    const rename = `RENAME CONSTRAINT ${quoteName(temporary)} TO ${quoteName(name)}`;
    const isNamed = `NOT ${hasConstraint(child, temporary)}`;
    steps.push(once("after", `name ${name}`, `ALTER TABLE ${child} ${rename}`, isNamed));
    if (key.validated) steps.push(validation("after", child, name, dialect));
    if (key.comment !== undefined) {
      const comment = quoteLiteral(key.comment);
      const sql = `COMMENT ON CONSTRAINT ${quoteName(name)} ON ${child} IS ${comment}`;
      steps.push({ kind: "statement", phase: "after", title: `comment on ${name}`, sql });
    }
    return steps;
  });
}

function getKey({ name, from }: { name: string; from: { schema: string; table: string } }): string {
  return JSON.stringify([from.schema, from.table, name]);
}
