import type { StatementReader } from "../statement_reader.ts";
import {
  type DeclaredColumn,
  type DeclaredDomain,
  type DeclaredEnum,
  type DeclaredSchema,
  findObject,
  getKey,
  mapValues,
  type ObjectName,
  type StoredOrder,
  withEntry,
  withoutEntries,
} from "./declared_schema.ts";
import { readLabel, readLiteral, writeLiteral } from "./literals.ts";
import { readObject, readPart, toObjectName } from "./read_object.ts";
import { keywordSet } from "../list_words.ts";

const DOMAIN_CLAUSES: ReadonlySet<string> = keywordSet("CONSTRAINT NOT NULL CHECK DEFAULT COLLATE");

/**
 * Applies CREATE TYPE … AS ENUM and CREATE DOMAIN; ignores other types and types that exist
 * already.
 */
export function foldCreateType(state: DeclaredSchema, reader: StatementReader): DeclaredSchema {
  const written = readObject(reader, 2);
  const name = toObjectName(written);
  if (!reader.is(written.end, "AS", "ENUM", "(") || state.enums.has(getKey(name))) return state;
  const open = written.end + 2;
  const labels = reader.list(open + 1, reader.closing(open))
    .map(([from, to]) => readLiteral(reader.token(from)) ?? reader.text(from, to));
  return { ...state, enums: withEntry(state.enums, { ...name, labels }) };
}

/** Applies CREATE DOMAIN. */
export function foldCreateDomain(state: DeclaredSchema, reader: StatementReader): DeclaredSchema {
  const written = readObject(reader, 2);
  const typeAt = reader.skip(written.end, "AS");
  const typeEnd = reader.findEnd(DOMAIN_CLAUSES, typeAt);
  const baseName = readObject(reader, typeAt);
  const base = findObject(state.enums, baseName);
  const domain = {
    ...toObjectName(written),
    enum: base && getKey(base),
    type: reader.text(typeAt, typeEnd),
    hasDefault: reader.find("DEFAULT", typeAt) >= 0 ||
      findObject(state.domains, baseName)?.hasDefault === true,
  };
  return { ...state, domains: withEntry(state.domains, domain) };
}

/** Applies ALTER DOMAIN: SET DEFAULT, DROP DEFAULT, RENAME TO, SET SCHEMA. */
export function foldAlterDomain(state: DeclaredSchema, reader: StatementReader): DeclaredSchema {
  const written = readObject(reader, 2);
  const found = findObject(state.domains, written);
  if (found === undefined) return state;
  const at = written.end;
  const setsDefault = reader.is(at, "SET", "DEFAULT");
  if (setsDefault || reader.is(at, "DROP", "DEFAULT")) {
    return { ...state, domains: withEntry(state.domains, { ...found, hasDefault: setsDefault }) };
  }
  if (reader.is(at, "RENAME", "TO")) {
    return rekeyDomain(state, found, { schema: found.schema, name: readPart(reader, at + 2) });
  }
  if (reader.is(at, "SET", "SCHEMA")) {
    return rekeyDomain(state, found, { schema: readPart(reader, at + 2), name: found.name });
  }
  return state;
}

function rekeyDomain(
  state: DeclaredSchema,
  found: DeclaredDomain,
  name: ObjectName,
): DeclaredSchema {
  const [old, key] = [getKey(found), getKey(name)];
  if (state.domains.has(key)) return state;
  const rename = (column: DeclaredColumn): DeclaredColumn =>
    column.domain === old ? { ...column, domain: key } : column;
  return {
    ...state,
    domains: withEntry(withoutEntries(state.domains, [old]), { ...found, ...name }),
    tables: new Map(
      [...state.tables].map((
        [at, table],
      ) => [at, { ...table, columns: table.columns.map(rename) }]),
    ),
  };
}

/** Applies ALTER TYPE of an enum: ADD VALUE, RENAME VALUE, RENAME TO, SET SCHEMA. */
export function foldAlterType(state: DeclaredSchema, reader: StatementReader): DeclaredSchema {
  const written = readObject(reader, 2);
  const found = findObject(state.enums, written);
  if (found === undefined) return state;
  const at = written.end;
  if (reader.is(at, "ADD", "VALUE")) return addValue(state, found, reader, at + 2);
  if (reader.is(at, "RENAME", "VALUE")) {
    const [old, label] = [readLiteral(reader.token(at + 2)), readLiteral(reader.token(at + 4))];
    if (label === undefined || found.labels.includes(label)) return state;
    const labels = found.labels.map((one) => one === old ? label : one);
    return renameDefaults(
      { ...state, enums: withEntry(state.enums, { ...found, labels }) },
      getKey(found),
      old,
      label,
    );
  }
  if (reader.is(at, "RENAME", "TO")) {
    return rekeyEnum(state, found, { schema: found.schema, name: readPart(reader, at + 2) });
  }
  if (reader.is(at, "SET", "SCHEMA")) {
    return rekeyEnum(state, found, { schema: readPart(reader, at + 2), name: found.name });
  }
  return state;
}

/** Updates defaults that are a renamed label. */
function renameDefaults(
  state: DeclaredSchema,
  key: string,
  old: string | undefined,
  label: string,
): DeclaredSchema {
  const rename = (column: DeclaredColumn): DeclaredColumn =>
    old !== undefined && column.defaultEnums?.includes(key) && readLabel(column.default) === old
      ? { ...column, default: writeLiteral(label) }
      : column;
  const tables = new Map(
    [...state.tables].map(([at, table]) => [at, { ...table, columns: table.columns.map(rename) }]),
  );
  return { ...state, tables };
}

function addValue(
  state: DeclaredSchema,
  found: DeclaredEnum,
  reader: StatementReader,
  from: number,
): DeclaredSchema {
  const at = reader.skip(from, "IF", "NOT", "EXISTS");
  const label = readLiteral(reader.token(at));
  if (label === undefined || found.labels.includes(label)) return state;
  const neighbour = readLiteral(reader.token(at + 2));
  const place = neighbour === undefined ? -1 : found.labels.indexOf(neighbour);
  const afterPlace = reader.is(at + 1, "BEFORE") ? place : place + 1;
  const index = place < 0 ? found.labels.length : afterPlace;
  return {
    ...state,
    enums: withEntry(state.enums, { ...found, labels: found.labels.toSpliced(index, 0, label) }),
  };
}

function rekeyEnum(state: DeclaredSchema, found: DeclaredEnum, name: ObjectName): DeclaredSchema {
  const [old, key] = [getKey(found), getKey(name)];
  if (state.enums.has(key)) return state;
  const one = (candidate: string): string => candidate === old ? key : candidate;
  const orders = <T extends { ordersBy?: readonly StoredOrder[] }>(object: T): T =>
    object.ordersBy === undefined ? object : {
      ...object,
      ordersBy: object.ordersBy.map((order) => ({ ...order, enum: one(order.enum) })),
    };
  const rename = (column: DeclaredColumn): DeclaredColumn => ({
    ...orders(column),
    enum: column.enum && one(column.enum),
    defaultEnums: column.defaultEnums?.map(one),
  });
  return {
    ...state,
    enums: withEntry(withoutEntries(state.enums, [old]), { ...found, ...name }),
    tables: mapValues(state.tables, (table) => ({
      ...table,
      columns: table.columns.map(rename),
      constraints: table.constraints.map(orders),
      indexes: table.indexes.map(orders),
    })),
    views: mapValues(state.views, (view) => ({
      ...orders(view),
      columns: view.columns?.map((column) => ({ ...column, enums: column.enums.map(one) })),
    })),
    domains: mapValues(
      state.domains,
      (domain) => ({ ...domain, enum: domain.enum && one(domain.enum) }),
    ),
  };
}
