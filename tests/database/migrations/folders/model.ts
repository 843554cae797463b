import type { Random } from "../../../support/random.ts";

/** A column that the generator knows. */
export interface ModelColumn {
  name: string;
  /** The key of its type in the list of types, or the name of an enum or a domain. */
  type: string;
  /** Whether INSERT must give it. */
  needsValue: boolean;
  /** Whether INSERT must not give it. */
  isComputed: boolean;
}

/** A table that the generator knows. */
export interface ModelTable {
  name: string;
  columns: ModelColumn[];
  key: string[];
  constraints: { name: string; kind: "primary_key" | "unique" | "check" | "foreign_key" }[];
}

/** An enum that the generator knows. */
export interface ModelEnum {
  name: string;
  labels: string[];
}

/** What a generated folder has declared so far. */
export interface Model {
  readonly random: Random;
  /** How names are written: always in quotes, as drizzle-kit and Prisma do, or bare. */
  readonly isQuoted: boolean;
  tables: ModelTable[];
  enums: ModelEnum[];
  domains: { name: string; base: string }[];
  sequences: string[];
  views: { name: string; table: string }[];
  indexes: { name: string; table: string }[];
  functions: string[];
  /** Numbers that make names and values distinct. */
  count: number;
}

/** A statement that may be added to a folder, and what it changes in the model when PostgreSQL takes it. */
export interface Draft {
  readonly sql: string;
  apply?(): void;
}

/** Drafts a statement; none when the model has nothing for it. */
export type Maker = (model: Model) => Draft | undefined;

/** An empty model. */
export function createModel(random: Random): Model {
  return {
    random,
    isQuoted: random.chance(0.6),
    tables: [],
    enums: [],
    domains: [],
    sequences: [],
    views: [],
    indexes: [],
    functions: [],
    count: 0,
  };
}

/** A name as the folder writes it. */
export function id(model: Model, name: string): string {
  return model.isQuoted || !/^[a-z_][a-z0-9_]*$/.test(name) ? `"${name}"` : name;
}

/** A relation's or a type's name, at times with its schema. */
export function path(model: Model, name: string): string {
  return model.random.chance(0.25) ? `${id(model, "public")}.${id(model, name)}` : id(model, name);
}

const WORDS = [
  "user",
  "team",
  "note",
  "tag",
  "order",
  "item",
  "event",
  "plan",
  "Role",
  "état",
  "a_b",
  "a",
  "b_c",
];

/** A new name. */
export function newName(model: Model, prefix = ""): string {
  return `${prefix}${model.random.pick(WORDS)}_${++model.count}`;
}
