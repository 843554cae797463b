/** Random folders of migrations about enums and serial columns, each change in the way of one tool. */
import type { Random } from "../../../support/random.ts";

/** An enum as the generator knows it. */
interface KnownEnum {
  /** As SQL: `"public"."st"`. */
  path: string;
  labels: string[];
}

interface KnownColumn {
  /** As SQL. */
  name: string;
  /** The enum; without one the column is text. */
  type?: KnownEnum;
  /** The type as SQL when it is no enum. */
  sql?: string;
}

interface KnownTable {
  /** As SQL. */
  path: string;
  columns: KnownColumn[];
  /** Whether `id` is serial with its default. */
  isSerial: boolean;
  /** The serial sequence, as text of a literal. */
  sequence: string;
}

const LABELS = [
  "low",
  "medium",
  "high",
  "a",
  "b",
  "Z",
  "it''s",
  "x y",
  "ä",
  "USER",
  "ADMIN",
  "urgent",
];
const NAMES = ["st", "Status", "role", "Role", "level", "Mood"];
const COLUMNS = ["s", "role", "Status", "level", "kind"];

/** Generates statements one by one. What PostgreSQL refuses is tried and forgotten by the caller. */
export class EnumFolders {
  readonly #random: Random;
  readonly #enums: KnownEnum[] = [];
  readonly #tables: KnownTable[] = [];
  #count = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Tables with their columns, for probes. */
  get tables(): readonly KnownTable[] {
    return this.#tables;
  }

  /** Every label that any enum ever had. */
  static readonly labels: readonly string[] = [...LABELS, "new", "old", "nonsense"];

  #quote(name: string): string {
    const plain = /^[a-z_]+$/.test(name);
    return plain && this.#random.chance(0.5) ? name : `"${name}"`;
  }

  #path(name: string): string {
    const random = this.#random;
    const quoted = this.#quote(name);
    if (random.chance(0.15)) return `app.${quoted}`;
    return random.chance(0.4) ? `"public".${quoted}` : quoted;
  }

  #fresh(base: string): string {
    return `${base}${++this.#count}`;
  }

  #labels(): string[] {
    const random = this.#random;
    const count = 1 + random.below(4);
    const picked = new Set(Array.from({ length: count }, () => random.pick(LABELS)));
    return [...picked];
  }

  /** CREATE TYPE, also in the block that drizzle-kit writes around it. */
  #createEnum(): string[] {
    const random = this.#random;
    const known = { path: this.#path(this.#fresh(random.pick(NAMES))), labels: this.#labels() };
    this.#enums.push(known);
    const create = `CREATE TYPE ${known.path} AS ENUM(${
      known.labels.map((one) => `'${one}'`).join(", ")
    })`;
    if (!random.chance(0.2)) return [create];
    return [`DO $$ BEGIN\n ${create};\nEXCEPTION\n WHEN duplicate_object THEN null;\nEND $$`];
  }

  /** One of an enum's labels, with or without a cast. */
  #label(type: KnownEnum): string {
    const random = this.#random;
    const label = `'${random.pick(type.labels)}'`;
    return random.pick([label, `${label}::${type.path}`, `CAST(${label} AS ${type.path})`, label]);
  }

  #columnSql(column: KnownColumn): string {
    const random = this.#random;
    if (column.type === undefined) return `${column.name} ${column.sql}`;
    const parts = [`${column.name} ${column.type.path}`];
    if (random.chance(0.5)) parts.push(`DEFAULT ${this.#label(column.type)}`);
    if (random.chance(0.2)) parts.push(`CHECK (${column.name} <> ${this.#label(column.type)})`);
    return parts.join(" ");
  }

  #newColumn(taken: readonly KnownColumn[]): KnownColumn | undefined {
    const random = this.#random;
    const name = this.#quote(random.pick(COLUMNS));
    if (taken.some((column) => column.name.replaceAll('"', "") === name.replaceAll('"', ""))) {
      return undefined;
    }
    if (this.#enums.length === 0 || random.chance(0.25)) {
      return { name, sql: random.pick(["text", "text", "varchar(20)", "int"]) };
    }
    return { name, type: random.pick(this.#enums) };
  }

  #createTable(): string[] {
    const random = this.#random;
    const name = this.#fresh(random.pick(["t", "Table", "users"]));
    const schema = random.chance(0.15) ? "app." : "";
    const path = `${schema}${this.#quote(name)}`;
    const columns: KnownColumn[] = [];
    for (let i = 0; i < 3; i++) {
      const column = this.#newColumn(columns);
      if (column) columns.push(column);
    }
    const serial = random.pick(["serial", "bigserial", "smallserial"]);
    const elements = [
      `id ${serial} PRIMARY KEY`,
      ...columns.map((column) => this.#columnSql(column)),
    ];
    const sequence = `${schema}${/^[a-z_0-9]+$/.test(name) ? name : `"${name}`}_id_seq${
      /^[a-z_0-9]+$/.test(name) ? "" : '"'
    }`;
    this.#tables.push({ path, columns, isSerial: true, sequence });
    return [`CREATE TABLE ${path} (${elements.join(", ")})`, ...this.#insert(this.#tables.at(-1)!)];
  }

  #value(column: KnownColumn): string {
    if (column.type) return this.#random.chance(0.15) ? "NULL" : this.#label(column.type);
    if (column.sql === "int") return String(this.#random.below(9));
    return `'${this.#random.pick(LABELS)}'`;
  }

  #insert(table: KnownTable): string[] {
    if (!table.isSerial || table.columns.length === 0) return [];
    const rows = Array.from(
      { length: 1 + this.#random.below(4) },
      () => `(${table.columns.map((column) => this.#value(column)).join(", ")})`,
    );
    return [
      `INSERT INTO ${table.path} (${table.columns.map(({ name }) => name).join(", ")}) VALUES ${
        rows.join(", ")
      }`,
    ];
  }

  #enumColumn(): [KnownTable, KnownColumn & { type: KnownEnum }] | undefined {
    const all = this.#tables.flatMap((table) =>
      table.columns.filter((column) => column.type !== undefined).map((
        column,
      ): [KnownTable, KnownColumn] => [table, column])
    );
    return all.length === 0
      ? undefined
      : this.#random.pick(all) as [KnownTable, KnownColumn & { type: KnownEnum }];
  }

  #update(): string[] {
    const found = this.#enumColumn();
    if (found === undefined) return [];
    const [{ path }, { name, type }] = found;
    const random = this.#random;
    const condition = random.pick([
      `${name} = ${this.#label(type)}`,
      `${name} IN (${this.#label(type)}, ${this.#label(type)})`,
      `${name} <> ${this.#label(type)}`,
      `${name} IS NULL`,
      `${name}::text = '${random.pick(type.labels)}'`,
      `${name} = ANY (ARRAY[${this.#label(type)}]::${type.path}[])`,
    ]);
    if (random.chance(0.2)) return [`DELETE FROM ${path} WHERE ${condition}`];
    return [`UPDATE ${path} SET ${name} = ${this.#label(type)} WHERE ${condition}`];
  }

  /** A condition in which the order of labels matters. */
  #ordered(name: string, type: KnownEnum, other = name): string {
    const random = this.#random;
    const operator = random.pick(["<", ">", "<=", ">="]);
    return random.pick([
      `${name} ${operator} ${this.#label(type)}`,
      `${this.#label(type)} ${operator} ${name}`,
      `NOT ${name} ${operator} ${this.#label(type)}`,
      `${name} ${random.pick(["", "NOT "])}BETWEEN ${this.#label(type)} AND ${this.#label(type)}`,
      `${name} ${operator} ${other}`,
      `coalesce(${name}, ${this.#label(type)}) ${operator} ${this.#label(type)}`,
      `greatest(${name}, ${this.#label(type)}) = ${this.#label(type)}`,
      `CASE WHEN ${name} ${operator} ${this.#label(type)} THEN 1 ELSE 2 END < 2`,
      `(${name}) ${operator} (${this.#label(type)})`,
      `(${name}, 1) ${operator} (${this.#label(type)}, 1)`,
    ]);
  }

  /** Statements whose effect depends on the order of labels. */
  #orderedChange(): string[] {
    const found = this.#enumColumn();
    if (found === undefined) return [];
    const random = this.#random;
    const [table, { name, type }] = found;
    const { path } = table;
    const others = table.columns.filter((column) => column.type === type).map((column) =>
      column.name
    );
    const where = this.#ordered(name, type, random.pick(others));
    switch (random.below(7)) {
      case 0:
        return [`DELETE FROM ${path} WHERE ${where}`];
      case 1:
        return [
          `UPDATE ${path} SET ${name} = greatest(${name}, ${this.#label(type)}) WHERE ${where}`,
        ];
      case 2:
        return [
          `UPDATE ${path} SET ${name} = (SELECT ${
            random.pick(["min", "max"])
          }(${name}) FROM ${path}) WHERE ${where}`,
        ];
      case 3:
        return [
          `CREATE VIEW ${
            this.#fresh("v")
          } AS SELECT id, ${name} AS x FROM ${path} WHERE ${where} ORDER BY ${name} ${
            random.pick(["", "DESC", "NULLS FIRST"])
          }, id`,
        ];
      case 4:
        return [
          `CREATE VIEW ${
            this.#fresh("v")
          } AS SELECT max(${name}), min(${name}) AS least, count(*) FILTER (WHERE ${where}) FROM ${path}`,
        ];
      case 5:
        return [`ALTER TABLE ${path} ADD CHECK (${where} OR ${name} IS NULL)`];
      default:
        return [
          `CREATE VIEW ${
            this.#fresh("v")
          } AS SELECT a.id, row_number() OVER (ORDER BY a.${name}, a.id) AS place ` +
          `FROM ${path} a LEFT JOIN ${path} b ON a.${name} < b.${name} AND b.id = a.id + 1`,
        ];
    }
  }

  #addValue(): string[] {
    const random = this.#random;
    if (this.#enums.length === 0) return [];
    const type = random.pick(this.#enums);
    const label = random.pick(LABELS);
    const place = random.pick([
      "",
      "",
      ` BEFORE '${random.pick(type.labels)}'`,
      ` AFTER '${random.pick(type.labels)}'`,
    ]);
    const isOptional = random.chance(0.4);
    if (!type.labels.includes(label)) type.labels.push(label);
    return [
      `ALTER TYPE ${type.path} ADD VALUE ${isOptional ? "IF NOT EXISTS " : ""}'${label}'${place}`,
    ];
  }

  #renameValue(): string[] {
    const random = this.#random;
    if (this.#enums.length === 0) return [];
    const type = random.pick(this.#enums);
    const [old, label] = [random.pick(type.labels), random.pick([...LABELS, "new"])];
    if (!type.labels.includes(label)) type.labels.splice(type.labels.indexOf(old), 1, label);
    return [`ALTER TYPE ${type.path} RENAME VALUE '${old}' TO '${label}'`];
  }

  #renameType(): string[] {
    if (this.#enums.length === 0) return [];
    const type = this.#random.pick(this.#enums);
    const name = this.#quote(this.#fresh("renamed"));
    const before = type.path;
    type.path = before.includes(".") ? `${before.slice(0, before.indexOf("."))}.${name}` : name;
    return [`ALTER TYPE ${before} RENAME TO ${name}`];
  }

  /** The columns of an enum in every table. */
  #getUsers(type: KnownEnum): [KnownTable, KnownColumn][] {
    return this.#tables.flatMap((table) =>
      table.columns.filter((column) => column.type === type).map((
        column,
      ): [KnownTable, KnownColumn] => [table, column])
    );
  }

  /** Prisma's way to remove a value: another type, the columns to it, then the names swapped. */
  #prismaRemoval(): string[] {
    const random = this.#random;
    if (this.#enums.length === 0) return [];
    const type = random.pick(this.#enums);
    const kept = type.labels.filter(() => random.chance(0.8));
    if (kept.length === 0) kept.push(type.labels[0]);
    const users = this.#getUsers(type);
    const bare = type.path.slice(type.path.indexOf(".") + 1).replaceAll('"', "");
    const schema = type.path.includes(".") ? type.path.slice(0, type.path.indexOf(".") + 1) : "";
    const fresh = `${schema}"${bare}_new"`;
    const statements = users.flatMap(([table, { name }]) => [
      `DELETE FROM ${table.path} WHERE ${name}::text NOT IN (${
        kept.map((one) => `'${one}'`).join(", ")
      })`,
    ]);
    statements.push(`CREATE TYPE ${fresh} AS ENUM (${kept.map((one) => `'${one}'`).join(", ")})`);
    for (const [table, { name }] of users) {
      statements.push(`ALTER TABLE ${table.path} ALTER COLUMN ${name} DROP DEFAULT`);
      statements.push(
        `ALTER TABLE ${table.path} ALTER COLUMN ${name} TYPE ${fresh} USING (${name}::text::${fresh})`,
      );
    }
    statements.push(`ALTER TYPE ${type.path} RENAME TO "${bare}_old"`);
    statements.push(`ALTER TYPE ${fresh} RENAME TO "${bare}"`);
    statements.push(`DROP TYPE ${schema}"${bare}_old"`);
    for (const [table, { name }] of users) {
      if (random.chance(0.6)) {
        statements.push(
          `ALTER TABLE ${table.path} ALTER COLUMN ${name} SET DEFAULT '${random.pick(kept)}'`,
        );
      }
    }
    type.path = `${schema}"${bare}"`;
    type.labels = kept;
    return statements;
  }

  /** drizzle-kit's way: the columns to text, the type again, the columns back. */
  #drizzleRemoval(): string[] {
    const random = this.#random;
    if (this.#enums.length === 0) return [];
    const type = random.pick(this.#enums);
    const kept = type.labels.filter(() => random.chance(0.8));
    if (kept.length === 0) kept.push(type.labels[0]);
    if (random.chance(0.4)) kept.push("new");
    const users = this.#getUsers(type);
    const statements: string[] = [];
    const defaults = new Map(
      users.map(([, column]) => [column, random.chance(0.5) ? random.pick(kept) : undefined]),
    );
    for (const [table, { name }] of users) {
      statements.push(
        `UPDATE ${table.path} SET ${name} = NULL WHERE ${name}::text NOT IN (${
          kept.map((one) => `'${one}'`).join(", ")
        })`,
      );
      statements.push(`ALTER TABLE ${table.path} ALTER COLUMN ${name} DROP DEFAULT`);
      statements.push(`ALTER TABLE ${table.path} ALTER COLUMN ${name} SET DATA TYPE text`);
    }
    statements.push(`DROP TYPE ${type.path}`);
    statements.push(
      `CREATE TYPE ${type.path} AS ENUM(${kept.map((one) => `'${one}'`).join(", ")})`,
    );
    for (const [table, column] of users) {
      const value = defaults.get(column);
      if (value !== undefined) {
        statements.push(
          `ALTER TABLE ${table.path} ALTER COLUMN ${column.name} SET DEFAULT '${value}'::${type.path}`,
        );
      }
      statements.push(
        `ALTER TABLE ${table.path} ALTER COLUMN ${column.name} SET DATA TYPE ${type.path} USING ${column.name}::${type.path}`,
      );
    }
    type.labels = [...new Set(kept)];
    return statements;
  }

  /** A column from text to an enum, from an enum to text, or from one enum to another. */
  #changeType(): string[] {
    const random = this.#random;
    if (this.#tables.length === 0) return [];
    const table = random.pick(this.#tables);
    if (table.columns.length === 0) return [];
    const column = random.pick(table.columns);
    const { name } = column;
    const head = `ALTER TABLE ${table.path} ALTER COLUMN ${name}`;
    if (this.#enums.length === 0 || random.chance(0.3)) {
      const sql = random.pick(["text", "varchar(30)", "text"]);
      column.type = undefined;
      column.sql = sql;
      return [
        `${head} ${random.pick(["TYPE", "SET DATA TYPE"])} ${sql}${
          random.chance(0.5) ? ` USING ${name}::text` : ""
        }`,
      ];
    }
    const type = random.pick(this.#enums);
    const using = random.pick([
      `${name}::text::${type.path}`,
      `(${name}::text)::${type.path}`,
      `CAST(${name} AS text)::${type.path}`,
      `(CASE ${name}::text WHEN '${random.pick(LABELS)}' THEN '${random.pick(type.labels)}' ELSE '${
        random.pick(type.labels)
      }' END)::${type.path}`,
    ]);
    column.type = type;
    column.sql = undefined;
    return [`${head} DROP DEFAULT`, `${head} SET DATA TYPE ${type.path} USING ${using}`];
  }

  #addColumn(): string[] {
    const random = this.#random;
    if (this.#tables.length === 0) return [];
    const table = random.pick(this.#tables);
    const column = this.#newColumn(table.columns);
    if (column === undefined) return [];
    table.columns.push(column);
    const isOptional = random.chance(0.3) ? "IF NOT EXISTS " : "";
    return [
      `ALTER TABLE ${table.path} ADD COLUMN ${isOptional}${this.#columnSql(column)}`,
      ...this.#insert(table),
    ];
  }

  #setDefault(): string[] {
    const found = this.#enumColumn();
    if (found === undefined) return [];
    const [{ path }, { name, type }] = found;
    const what = this.#random.pick([
      `SET DEFAULT ${this.#label(type)}`,
      "DROP DEFAULT",
      "SET NOT NULL",
      "DROP NOT NULL",
      "DROP NOT NULL",
    ]);
    return [`ALTER TABLE ${path} ALTER COLUMN ${name} ${what}`];
  }

  #addConstraint(): string[] {
    const found = this.#enumColumn();
    if (found === undefined) return [];
    const random = this.#random;
    const [{ path }, { name, type }] = found;
    const check = `CHECK (${name} IN (${this.#label(type)}, ${this.#label(type)}, ${
      this.#label(type)
    }) OR ${name} IS NULL)`;
    return [
      `ALTER TABLE ${path} ADD ${
        random.chance(0.4) ? `CONSTRAINT ${this.#fresh("named")} ` : ""
      }${check}`,
    ];
  }

  #createView(): string[] {
    const found = this.#enumColumn();
    if (found === undefined) return [];
    const [{ path }, { name, type }] = found;
    const where = this.#random.pick([
      `${name} = ${this.#label(type)}`,
      `${name} <> ${this.#label(type)}`,
      `coalesce(${name}, ${this.#label(type)}) = ${this.#label(type)}`,
    ]);
    return [`CREATE VIEW ${this.#fresh("v")} AS SELECT id, ${name} FROM ${path} WHERE ${where}`];
  }

  #dropView(): string[] {
    return [`DROP VIEW IF EXISTS v${1 + this.#random.below(Math.max(1, this.#count))}`];
  }

  #createIndex(): string[] {
    const found = this.#enumColumn();
    if (found === undefined) return [];
    const [{ path }, { name, type }] = found;
    const where = this.#random.chance(0.4) ? ` WHERE ${name} = ${this.#label(type)}` : "";
    return [`CREATE INDEX ${this.#fresh("i")} ON ${path} USING btree (${name})${where}`];
  }

  #rename(): string[] {
    const random = this.#random;
    if (this.#tables.length === 0) return [];
    const table = random.pick(this.#tables);
    if (table.columns.length > 0 && random.chance(0.6)) {
      const column = random.pick(table.columns);
      const before = column.name;
      column.name = this.#quote(this.#fresh("col"));
      return [`ALTER TABLE ${table.path} RENAME COLUMN ${before} TO ${column.name}`];
    }
    const before = table.path;
    const name = this.#quote(this.#fresh("moved"));
    table.path = before.includes(".") ? `app.${name}` : name;
    return [`ALTER TABLE ${before} RENAME TO ${name}`];
  }

  /** What becomes of a serial column: Prisma's and hand-written ways. */
  #serialChange(): string[] {
    const random = this.#random;
    const serial = this.#tables.filter((table) => table.isSerial);
    if (serial.length === 0) return [];
    const table = random.pick(serial);
    const head = `ALTER TABLE ${table.path} ALTER COLUMN id`;
    const { sequence } = table;
    switch (random.below(7)) {
      case 0:
        table.isSerial = false;
        return [`${head} DROP DEFAULT`, `DROP SEQUENCE ${sequence}`];
      case 1:
        return [`${head} DROP DEFAULT`, `${head} SET DEFAULT nextval('${sequence}')`];
      case 2:
        return [`${head} SET DEFAULT nextval('${sequence}'::regclass)`];
      case 3:
        return [`${head} SET DATA TYPE ${random.pick(["bigint", "integer"])}`];
      case 4:
        table.isSerial = false;
        return [
          `${head} DROP DEFAULT, ALTER COLUMN id SET DATA TYPE text`,
          `DROP SEQUENCE ${sequence}`,
        ];
      case 5:
        return [`ALTER SEQUENCE ${sequence} OWNED BY ${table.path}.id`];
      default:
        return [`SELECT setval('${sequence}', 40)`];
    }
  }

  #dropType(): string[] {
    const random = this.#random;
    if (this.#enums.length === 0) return [];
    const type = random.pick(this.#enums);
    return [`DROP TYPE ${random.chance(0.3) ? "IF EXISTS " : ""}${type.path}`];
  }

  /** The statements of one change. */
  next(): string[] {
    const random = this.#random;
    if (this.#enums.length === 0) return this.#createEnum();
    if (this.#tables.length === 0) return this.#createTable();
    if (random.chance(0.2)) return this.#orderedChange();
    switch (random.below(24)) {
      case 0:
        return this.#createEnum();
      case 1:
      case 2:
        return this.#createTable();
      case 3:
      case 4:
      case 5:
        return this.#update();
      case 6:
      case 7:
        return this.#addValue();
      case 8:
        return this.#renameValue();
      case 9:
        return this.#renameType();
      case 10:
      case 11:
        return this.#prismaRemoval();
      case 12:
      case 13:
        return this.#drizzleRemoval();
      case 14:
      case 15:
        return this.#changeType();
      case 16:
        return this.#addColumn();
      case 17:
        return this.#setDefault();
      case 18:
        return this.#addConstraint();
      case 19:
        return this.#createView();
      case 20:
        return random.chance(0.5) ? this.#dropView() : this.#createIndex();
      case 21:
        return this.#rename();
      case 22:
        return this.#serialChange();
      default:
        return random.chance(0.5) ? this.#dropType() : this.#serialChange();
    }
  }
}
