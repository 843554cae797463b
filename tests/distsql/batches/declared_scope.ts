import {
  type DeclaredSchema,
  EMPTY_SCHEMA,
  findObject,
} from "../../../distsql/schema/declared_schema.ts";
import { foldStatement } from "../../../distsql/schema/fold_statement.ts";
import type { WrittenName } from "../../../distsql/schema/read_object.ts";
import { type BatchScope, readJoin } from "../../../distsql/batches/decide_batch.ts";
import type { Relation } from "../../../distsql/batches/relation.ts";
import { readRowChange } from "../../../distsql/batches/row_change.ts";
import { toTableSchema } from "../../../distsql/schema/to_table_schema.ts";
import { splitStatements } from "../../../sql/statement.ts";
import { StatementReader } from "../../../sql/statement_reader.ts";

/** The declarations of a text. */
export function declare(sql: string): DeclaredSchema {
  let schema = EMPTY_SCHEMA;
  for (const { tokens } of splitStatements(sql)) {
    schema = foldStatement(schema, new StatementReader(tokens));
  }
  return schema;
}

/** What decides about a change, of a text's declarations. */
export function scopeOf(
  sql: string,
  schema: DeclaredSchema,
  functions: ReadonlySet<string>,
): BatchScope {
  const find = (name: WrittenName | undefined): Relation => {
    const table = name && findObject(schema.tables, name);
    if (table !== undefined) return toTableSchema(table, schema);
    return name && findObject(schema.views, name) !== undefined ? "other" : undefined;
  };
  const change = readRowChange(sql);
  if (change === undefined || change.verb === "compound") {
    return { table: undefined, joined: undefined, functions };
  }
  return { table: find(change.table), joined: find(readJoin(change)?.table), functions };
}
