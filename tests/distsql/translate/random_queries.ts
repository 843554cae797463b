/** Random queries over tables with enum columns, in which the order of labels matters. */
import type { Random } from "../../support/random.ts";

/** The tables that the queries read: `t` and `o` have enums, `p` has texts under the same names. */
export const TABLES: Readonly<Record<string, Readonly<Record<string, "enum" | "int" | "text">>>> = {
  t: { id: "int", s: "enum", r: "enum", n: "int", txt: "text" },
  o: { id: "int", s: "enum", m: "enum", n: "int" },
  p: { id: "int", s: "text", n: "int" },
};

/** Generates queries one by one. */
export class RandomQueries {
  readonly #random: Random;
  readonly #labels: readonly string[];

  constructor(random: Random, labels: readonly string[]) {
    this.#random = random;
    this.#labels = labels;
  }

  #label(): string {
    const random = this.#random;
    const label = `'${random.pick(this.#labels).replaceAll("'", "''")}'`;
    return random.pick([
      label,
      label,
      `${label}::mood`,
      `CAST(${label} AS public.mood)`,
      `mood ${label}`,
    ]);
  }

  /** An enum value of a relation called `q`. */
  #value(q: string, table: string, depth = 0): string {
    const random = this.#random;
    const columns = Object.entries(TABLES[table]).filter(([, type]) => type === "enum").map((
      [name],
    ) => name);
    const column = random.pick(columns);
    const name = random.chance(0.5) ? `${q}.${column}` : column;
    if (depth > 1 || random.chance(0.6)) return name;
    return random.pick([
      `coalesce(${name}, ${this.#label()})`,
      `nullif(${name}, ${this.#label()})`,
      `greatest(${this.#value(q, table, depth + 1)}, ${this.#label()})`,
      `least(${this.#value(q, table, depth + 1)}, ${this.#value(q, table, depth + 1)})`,
      `(CASE WHEN ${q}.n > 1 THEN ${name} ELSE ${this.#label()} END)`,
      `(${name})`,
      `${name}::text::mood`,
    ]);
  }

  #operator(): string {
    return this.#random.pick(["<", ">", "<=", ">=", "<", ">", "=", "<>"]);
  }

  #condition(q: string, table: string, depth = 0): string {
    const random = this.#random;
    const value = (): string => this.#value(q, table);
    const simple = [
      (): string => `${value()} ${this.#operator()} ${this.#label()}`,
      (): string => `${this.#label()} ${this.#operator()} ${value()}`,
      (): string => `${value()} ${this.#operator()} ${value()}`,
      (): string =>
        `${value()} ${random.pick(["", "NOT "])}BETWEEN ${this.#label()} AND ${this.#label()}`,
      (): string =>
        `${value()} BETWEEN ${random.pick(["", "SYMMETRIC "])}${value()} AND ${this.#label()}`,
      (): string => `${value()} IN (${this.#label()}, ${this.#label()})`,
      (): string => `${q}.n > ${random.below(4)}`,
      (): string => `${value()} IS NOT NULL`,
      (): string => `(${value()} > ${this.#label()}) IS TRUE`,
      (): string => `${value()} >= ANY (ARRAY[${this.#label()}, ${this.#label()}]::mood[])`,
      (): string => `(${value()}, ${q}.n) < (${this.#label()}, 2)`,
      (): string => `${q}.s::text < '${random.pick(this.#labels).replaceAll("'", "''")}'`,
      (): string => `${value()} > (SELECT ${random.pick(["min", "max"])}(i.s) FROM o AS i)`,
      (): string =>
        `EXISTS (SELECT 1 FROM ${
          random.pick(["o", "p", "t"])
        } AS x WHERE x.id = ${q}.id AND s > 'm')`,
      (): string => `EXISTS (SELECT 1 FROM o AS x WHERE x.s < ${q}.s)`,
    ];
    const one = random.pick(simple)();
    if (depth > 1 || random.chance(0.6)) return one;
    return `${random.pick(["", "NOT "])}(${one} ${random.pick(["AND", "OR"])} ${
      this.#condition(q, table, depth + 1)
    })`;
  }

  #sortKey(q: string, table: string): string {
    const random = this.#random;
    return `${this.#value(q, table)}${
      random.pick(["", " DESC", " ASC", " NULLS FIRST", " DESC NULLS LAST"])
    }`;
  }

  /** A query whose rows have a fixed order, or are one row. */
  next(): string {
    const random = this.#random;
    const table = random.pick(["t", "o"]);
    const [from, q] = random.pick([[table, table], [`${table} a`, "a"], [`${table} AS b`, "b"]]);
    const where = random.chance(0.7) ? ` WHERE ${this.#condition(q, table)}` : "";
    const value = (): string => this.#value(q, table);
    switch (random.below(12)) {
      case 0:
        return `SELECT ${q}.id, ${value()} AS value FROM ${from}${where} ORDER BY ${
          this.#sortKey(q, table)
        }, ${q}.id`;
      case 1:
        return `SELECT min(${value()}), max(${value()}) AS most, count(*) FROM ${from}${where}`;
      case 2:
        return `SELECT ${q}.n, max(${value()}) AS most FROM ${from}${where} GROUP BY ${q}.n HAVING min(${q}.s) > ${this.#label()} ORDER BY ${q}.n`;
      case 3:
        return `SELECT ${q}.id, row_number() OVER (ORDER BY ${
          this.#sortKey(q, table)
        }, ${q}.id) AS place FROM ${from}${where} ORDER BY 1`;
      case 4:
        return `SELECT string_agg(${q}.id::text, ',' ORDER BY ${
          this.#sortKey(q, table)
        }, ${q}.id) FROM ${from}${where}`;
      case 5:
        return `SELECT ${q}.id, z.id AS other FROM ${from} JOIN p AS z ON z.n = ${q}.n AND ${
          this.#condition(q, table)
        } ORDER BY 1, 2`;
      case 6:
        return `WITH c AS (SELECT ${q}.id, ${value()} AS v FROM ${from}${where}) SELECT id, v FROM c ORDER BY v, id`;
      case 7:
        return `SELECT d.id FROM (SELECT ${q}.id, ${value()} AS lvl FROM ${from}${where}) d WHERE d.lvl > ${this.#label()} ORDER BY d.id`;
      case 8:
        return `SELECT DISTINCT ${value()} AS value FROM ${from}${where} ORDER BY 1`;
      case 10:
        return `SELECT id, least FROM (SELECT ${q}.id, row_number() OVER (PARTITION BY ${q}.n ORDER BY ${
          this.#sortKey(q, table)
        }, ${q}.id) AS place, ${
          random.pick(["min", "max"])
        }(${value()}) OVER (PARTITION BY ${q}.n) ${this.#operator()} ` +
          `${this.#label()} AS least FROM ${from}${where}) AS ranked WHERE place ${this.#operator()} 2 ORDER BY id`;
      case 9:
        return `SELECT ${q}.id, CASE WHEN ${
          this.#condition(q, table)
        } THEN 'yes' ELSE 'no' END AS answer FROM ${from} ORDER BY ${q}.id`;
      default:
        return `SELECT ${q}.id, max(${q}.s) OVER (PARTITION BY ${q}.n) AS most FROM ${from}${where} ORDER BY ${q}.id LIMIT ${
          1 + random.below(9)
        }`;
    }
  }
}
