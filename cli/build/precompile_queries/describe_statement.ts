import type { Query } from "drizzle-orm";
import type { SelectedFieldsOrdered } from "drizzle-orm/pg-core";
import {
  isColumn,
  isJsonField,
  type SelectedField,
} from "../../../database/session/column_decoder.ts";
import type { Statement } from "../../../database/session/driver.ts";
import type { NotNullable } from "../../../database/session/row_mapper.ts";
import { Codecs, type DrizzleModules, NotCompiled } from "./codecs.ts";

/** A parameter; `encode` is code. */
export type ParameterSource =
  | { readonly value: string | number | boolean | bigint | null }
  | { readonly placeholder: string; readonly encode?: string };

/** A selected column; `decode` is code. */
export interface CellSource {
  readonly path: readonly string[];
  readonly decode?: string;
  readonly table?: string;
  readonly isJson?: true;
}

/** A statement as drizzle builds it, with codecs as code. */
export interface StatementSource {
  readonly name: string;
  readonly text: string;
  readonly params: readonly ParameterSource[];
  readonly cells?: readonly CellSource[];
  readonly notNullable?: NotNullable;
  readonly metadata?: Statement["metadata"];
}

/** The arguments with which drizzle prepares a statement. */
class Recorded {
  /** Set by drizzle for joins. */
  joinsNotNullableMap: NotNullable;

  constructor(
    readonly query: Query,
    readonly fields: SelectedFieldsOrdered | undefined,
    readonly name: string,
    readonly isRelational: boolean,
    readonly metadata: Statement["metadata"] | undefined,
  ) {}

  setToken(): this {
    return this;
  }
}

/** Session of a client without a connection. */
const RECORDING_SESSION = {
  prepareQuery(
    query: Query,
    fields: SelectedFieldsOrdered | undefined,
    name: string,
    _isResponseInArrayMode: boolean,
    mapRows?: unknown,
    metadata?: Statement["metadata"],
  ): Recorded {
    return new Recorded(query, fields, name, mapRows !== undefined, metadata);
  },
};

/**
 * Builds a statement with drizzle and describes it.
 *
 * @param build Builds the statement on a client.
 * @param drizzle The project's drizzle.
 * @returns The description.
 * @throws {NotCompiled} If a part of it is not known.
 */
export function describeStatement(
  build: (db: unknown) => unknown,
  drizzle: DrizzleModules,
): StatementSource {
  const { PgDatabase, PgDialect } = drizzle.pg;
  const db = new PgDatabase(new PgDialect(), RECORDING_SESSION as never, undefined);
  const recorded = build(db);
  if (!(recorded instanceof Recorded)) {
    throw new NotCompiled("it is not a select, insert, update or delete");
  }
  if (recorded.isRelational) throw new NotCompiled("it is a relational query");
  const { query, fields, name, metadata, joinsNotNullableMap: notNullable } = recorded;
  const codecs = new Codecs(drizzle);
  return {
    name,
    text: query.sql,
    params: query.params.map((param) => describeParameter(param, codecs, drizzle)),
    cells: fields?.map((field) => describeCell(field, codecs, drizzle)),
    notNullable,
    metadata,
  };
}

function describeParameter(
  param: unknown,
  codecs: Codecs,
  { core: { is, Param, Placeholder } }: DrizzleModules,
): ParameterSource {
  if (is(param, Placeholder)) return { placeholder: param.name };
  if (is(param, Param) && is(param.value, Placeholder)) {
    const encode = codecs.getEncoder(param.encoder)?.code;
    return { placeholder: param.value.name, encode };
  }
  if (param === null || ["string", "boolean", "bigint"].includes(typeof param)) {
    return { value: param as string | boolean | bigint | null };
  }
  if (typeof param === "number" && Number.isFinite(param)) return { value: param };
  throw new NotCompiled("a parameter is neither a placeholder nor a string, number or boolean");
}

function describeCell(
  { path, field }: SelectedFieldsOrdered[number],
  codecs: Codecs,
  { core: { getTableName } }: DrizzleModules,
): CellSource {
  const selected = field as SelectedField;
  const decode = codecs.getDecoder(selected)?.code;
  const table = isColumn(selected) && path.length === 2 ? getTableName(selected.table) : undefined;
  return { path, decode, table, isJson: isJsonField(selected) ? true : undefined };
}
