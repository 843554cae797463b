/** Makes UPDATE and DELETE statements over three tables, their views and a function, from a seed. */
import type { Random } from "../../support/random.ts";

/** How the tables of a round are made. */
export interface Tables {
  /** Statements that create them, with their rows. */
  readonly sql: readonly string[];
  /** What is told about a difference. */
  readonly title: string;
}

const KEYS = ["id", "id", "pair", "text", "uuid", "unique", "none"] as const;
const ACTIONS = ["", "ON DELETE CASCADE", "ON DELETE SET NULL"] as const;

/** Makes `t` of 3,001 to 9,000 rows, `r` and `c` of 40 to 9,000, with keys and foreign keys of all kinds. */
export function makeTables(random: Random): Tables {
  const key = random.pick(KEYS);
  const rows = 3001 + random.below(6000);
  const [others, children] = [40, 40].map((least) =>
    least + Math.floor(random.next() * random.next() * 8960)
  );
  const isNumbered = key === "id" || key === "unique";
  const selfAction = isNumbered && random.chance(0.4) ? random.pick(ACTIONS) : undefined;
  const childAction = isNumbered && random.chance(0.6) ? random.pick(ACTIONS) : undefined;
  const hasCode = random.chance(0.4);
  const columns = [
    `id int NOT NULL`,
    "id2 int NOT NULL",
    `pk ${key === "uuid" ? "uuid" : "text"} NOT NULL`,
    "k int, a int, b int, s text, f numeric(12, 2)",
    `code int${hasCode ? " UNIQUE" : ""}`,
    `up int${selfAction === undefined ? "" : ` REFERENCES t (id) ${selfAction}`}`,
    "rid int",
    ...key === "id" ? ["PRIMARY KEY (id)"] : key === "unique" ? ["UNIQUE (id)"] : [],
    ...key === "pair"
      ? ["PRIMARY KEY (id2, id)"]
      : key === "text" || key === "uuid"
      ? ["PRIMARY KEY (pk)"]
      : [],
  ];
  const order = random.pick(["n", "-n", "md5(n::text)"]);
  return {
    title:
      `key ${key}, ${rows}/${others}/${children} rows, self ${selfAction}, child ${childAction}, code ${hasCode}`,
    sql: [
      `CREATE TABLE t (${columns.join(", ")})`,
      "CREATE TABLE r (id int PRIMARY KEY, k int, x int, tag text)",
      `CREATE TABLE c (id int PRIMARY KEY, tid int${
        childAction === undefined ? "" : ` REFERENCES t (id) ${childAction}`
      }, n int)`,
      "CREATE INDEX ON t (k); CREATE INDEX ON t (a); CREATE INDEX ON t (up); CREATE INDEX ON t (id)",
      "CREATE INDEX ON r (k); CREATE INDEX ON c (tid)",
      `INSERT INTO t SELECT n, n % 7, md5(n::text)::${key === "uuid" ? "uuid" : "text"}, n % ${
        rows >> 2
      }, (n * 7919) % 1009,
        nullif((n * 31) % 17, 3), 's' || n % 11, n % 1000 / 10.0, n + 20000, nullif(n / 3, 0), 1 + n % ${others}
        FROM generate_series(1, ${rows}) AS n ORDER BY ${order}`,
      `INSERT INTO r SELECT n, n % ${Math.max(3, others >> 2)}, (n * 613) % 911, 'tag' || n % 13
        FROM generate_series(1, ${others}) AS n`,
      `INSERT INTO c SELECT n, 1 + (n * 17) % ${rows}, n % 50 FROM generate_series(1, ${children}) AS n`,
      "CREATE VIEW v_t AS SELECT id, k, a FROM t",
      "CREATE VIEW v_vt AS SELECT k AS id, k, sum(a) AS a FROM v_t GROUP BY k",
      "CREATE VIEW v_r AS SELECT id, k, x FROM r",
      "CREATE FUNCTION f_t(int) RETURNS int LANGUAGE sql STABLE AS 'SELECT max(a) FROM t WHERE k = $1'",
      "ANALYZE",
    ],
  };
}

/** A statement, and those that earlier pending migrations hold. */
export interface GeneratedChange {
  /** Statements of an earlier file. */
  readonly before: readonly string[];
  /** The UPDATE or DELETE. */
  readonly sql: string;
}

interface Relation {
  readonly name: string;
  readonly key: string;
  readonly value: string;
}

const SELF: readonly Relation[] = [
  { name: "t", key: "k", value: "a" },
  { name: "v_t", key: "k", value: "a" },
  { name: "v_vt", key: "k", value: "a" },
];
const OTHERS: readonly Relation[] = [
  { name: "r", key: "k", value: "x" },
  { name: "v_r", key: "k", value: "x" },
  { name: "c", key: "tid", value: "n" },
];

class Generator {
  readonly #random: Random;
  /** How the statement names the table that it changes. */
  #q = "t";
  readonly #before: string[] = [];

  constructor(random: Random) {
    this.#random = random;
  }

  make(): GeneratedChange {
    const alias = this.#pick(["", "", " q", " AS q"]);
    const target = `${this.#pick(["", "", "ONLY "])}${
      this.#pick(["t", "t", "public.t", '"t"'])
    }${alias}`;
    this.#q = alias === "" ? "t" : "q";
    if (this.#chance(0.06)) this.#before.push("CREATE VIEW late_v AS SELECT id, k, a FROM t");
    if (this.#chance(0.03)) {
      this.#before.push(
        "INSERT INTO t (id, id2, pk, k, a) SELECT n, 1, gen_random_uuid(), 1, n FROM generate_series(90001, 90005) AS n"
          .replace("gen_random_uuid()", "md5(n::text)::uuid"),
      );
    }
    const { prefix, list, joins } = this.#source();
    const condition = [...joins, ...this.#chance(0.6) ? [this.#condition(2)] : []].join(" AND ");
    const where = condition === "" ? "" : ` WHERE ${condition}`;
    const returning = this.#chance(0.05) ? ` RETURNING ${this.#q}.id` : "";
    const sql = this.#chance(0.65)
      ? `${prefix}UPDATE ${target} SET ${this.#assignments(list)}${
        list === "" ? "" : ` FROM ${list}`
      }${where}${returning}`
      : `${prefix}DELETE FROM ${target}${list === "" ? "" : ` USING ${list}`}${where}${returning}`;
    return { before: this.#before, sql };
  }

  #pick<T>(values: readonly T[]): T {
    return this.#random.pick(values);
  }

  #chance(share: number): boolean {
    return this.#random.chance(share);
  }

  #number(below: number): number {
    return this.#random.below(below);
  }

  #relation(): Relation {
    if (this.#before.length > 0 && this.#before[0].startsWith("CREATE VIEW") && this.#chance(0.4)) {
      return { name: "late_v", key: "k", value: "a" };
    }
    return this.#pick(this.#chance(0.35) ? SELF : OTHERS);
  }

  /** What is joined: at most one row for each row of `t`. */
  #source(): { prefix: string; list: string; joins: string[] } {
    const q = this.#q;
    const relation = this.#relation();
    const { name, key, value } = relation;
    const groups = `SELECT z.${key} AS k, ${
      this.#pick(["sum", "max", "count"])
    }(z.${value}) AS n FROM ${name} z GROUP BY z.${key}`;
    const numbered =
      `SELECT z.id, row_number() OVER (PARTITION BY z.${key} ORDER BY z.${value}, z.id) AS n FROM ${name} z`;
    switch (this.#number(14)) {
      case 0:
        return { prefix: "", list: "r AS j", joins: [`j.id = ${q}.rid`] };
      case 1:
        return { prefix: "", list: `(${groups}) AS j`, joins: [`j.k = ${q}.k`] };
      case 2:
        return { prefix: "", list: `(${numbered}) j`, joins: [`j.id = ${q}.id`] };
      case 3:
        return { prefix: "", list: "t AS j", joins: [`j.id = ${q}.up`] };
      case 4:
        return {
          prefix: "",
          list: "(VALUES (1, 5), (2, 6), (3, 7)) AS j(k, n)",
          joins: [`j.k = ${q}.k % 50`],
        };
      case 5:
        return { prefix: `WITH j AS (${groups}) `, list: "j", joins: [`j.k = ${q}.k`] };
      case 6:
        return {
          prefix:
            `WITH big (k, n) AS MATERIALIZED (${groups}), j AS (SELECT k, n FROM big WHERE n > ${
              this.#number(300)
            }) `,
          list: "j",
          joins: [`j.k = ${q}.k`],
        };
      case 7:
        return {
          prefix:
            `WITH RECURSIVE j (k, n) AS (SELECT 1, 1 UNION ALL SELECT k + 1, n * 2 % 101 FROM j WHERE k < 300) `,
          list: "j",
          joins: [`j.k = ${q}.k`],
        };
      case 8:
        return this.#chance(0.3)
          ? {
            prefix:
              `WITH gone AS (DELETE FROM c WHERE n < 9 RETURNING tid), j AS (SELECT DISTINCT tid AS k, 1 AS n FROM gone) `,
            list: "j",
            joins: [`j.k = ${q}.id`],
          }
          : { prefix: "", list: `r j JOIN v_r USING (id)`, joins: [`j.id = ${q}.rid`] };
      default:
        return { prefix: "", list: "", joins: [] };
    }
  }

  #assignments(list: string): string {
    const count = this.#pick([1, 1, 1, 2, 3]);
    const names = new Set<string>();
    while (names.size < count) {
      names.add(this.#pick(["a", "a", "a", "b", "b", "k", "s", "f", "code", "up", "id"]));
    }
    if (
      count === 2 && !names.has("s") && !names.has("id") && !names.has("up") &&
      !names.has("code") && this.#chance(0.4)
    ) {
      const { name, key, value } = this.#relation();
      return `(${
        [...names].join(", ")
      }) = (SELECT min(z.${value}), max(z.${value}) FROM ${name} z WHERE z.${key} = ${this.#q}.k)`;
    }
    return [...names].map((name) => `${name} = ${this.#value(name, list)}`).join(", ");
  }

  #value(column: string, list: string): string {
    const q = this.#q;
    switch (column) {
      case "id":
        return this.#pick([`${q}.id + 1`, `${q}.id + 100000`, `-${q}.id`]);
      case "code":
        return this.#pick([`${q}.code + 1`, `${q}.code + 100000`, `-${q}.code`, "NULL"]);
      case "up":
        return this.#pick(["NULL", `${q}.id`, `CASE WHEN ${q}.a > 500 THEN ${q}.up END`]);
      case "s":
        return this.#pick([
          `${q}.s || 'x'`,
          `upper(${q}.s)`,
          `coalesce((SELECT min(tag) FROM r WHERE r.k = ${q}.k), 'none')`,
        ]);
    }
    if (list !== "" && this.#chance(0.6)) {
      return /^r |^r AS/.test(list) ? "j.x" : list.startsWith("t ") ? "j.a" : "j.n";
    }
    return this.#chance(0.5) ? this.#integer() : `(${this.#subquery()})::bigint % 100000`;
  }

  /** A number by the row alone. */
  #integer(): string {
    const q = this.#q;
    return this.#pick([
      `${q}.a + 1`,
      `${q}.a * 2 - ${q}.k`,
      `coalesce(${q}.b, 0) + ${this.#number(50)}`,
      `abs(${q}.a - ${q}.k) % 97`,
      `CASE WHEN ${q}.a > ${this.#number(1000)} THEN ${q}.k ELSE -${q}.a END`,
      `length(${q}.s) + ${q}.id % 10`,
      `greatest(${q}.a, ${q}.b, 5)`,
      `${this.#number(9)}`,
      `extract(epoch FROM interval '1 second' * ${q}.a)::int`,
      ...this.#chance(0.1) ? [`f_t(${q}.k)`, `public.f_t(${q}.k)`] : [],
    ]);
  }

  /** A query that gives one number. */
  #subquery(): string {
    const { name, key, value } = this.#relation();
    const z = `z.${value}`;
    const match = this.#pick([
      "",
      ` WHERE z.${key} = ${this.#q}.k`,
      ` WHERE z.${key} = ${this.#q}.k`,
      ` WHERE z.id = ${this.#q}.id`,
    ]);
    const inner = this.#pick([
      `SELECT coalesce(max(${z}), 0) FROM ${name} z${match}`,
      `SELECT count(*) FROM ${name} AS z${match}`,
      `SELECT coalesce(sum(${z}), 0) FROM ${name} z${match}`,
      `SELECT coalesce(min(${z}), -1) FROM ${name} z${match}`,
      `SELECT ${z} FROM ${name} z${match} ORDER BY ${z} DESC, z.id LIMIT 1`,
      `SELECT cardinality(ARRAY(SELECT ${z} FROM ${name} z${match}))`,
      `WITH w AS (SELECT ${z} AS n FROM ${name} z${match}) SELECT coalesce(avg(n), 0)::int FROM w`,
      `SELECT length(coalesce(string_agg(${z}::text, ',' ORDER BY z.id), '')) FROM ${name} z${match}`,
    ]);
    return `coalesce((${inner}), 0)`;
  }

  #condition(depth: number): string {
    if (depth > 0 && this.#chance(0.3)) {
      const [left, right] = [this.#condition(depth - 1), this.#condition(depth - 1)];
      return this.#pick([`(${left} AND ${right})`, `(${left} OR ${right})`, `NOT (${left})`]);
    }
    const q = this.#q;
    const { name, key, value } = this.#relation();
    const n = this.#number(1000);
    return this.#pick([
      `${q}.a > ${n % 300}`,
      `${q}.a < ${400 + n}`,
      `${q}.id > ${this.#number(2000)}`,
      `${q}.id <= ${this.#number(9000)}`,
      `${q}.id % 3 <> ${n % 3}`,
      `${q}.b IS NULL`,
      `${q}.a IS DISTINCT FROM ${q}.b`,
      `${q}.k IN (1, 2, ${n})`,
      `${q}.s LIKE 's1%'`,
      `EXISTS (SELECT 1 FROM ${name} z WHERE z.${key} = ${q}.k AND z.${value} > ${n})`,
      `NOT EXISTS (SELECT FROM ${name} z WHERE z.${key} = ${q}.k AND z.${value} = ${q}.a)`,
      `NOT EXISTS (SELECT 1 FROM ${name} z WHERE z.${value} = -1)`,
      `${q}.a IN (SELECT z.${value} FROM ${name} z)`,
      `${q}.a > (SELECT avg(z.${value}) FROM ${name} z)`,
      `(SELECT count(*) FROM ${name} z WHERE z.${key} = ${q}.k) > ${n % 4}`,
      `${q}.id NOT IN (SELECT min(z.id) FROM ${name} z GROUP BY z.${key})`,
      `${q}.k IN (SELECT z.${key} FROM ${name} z ORDER BY z.${value}, z.id LIMIT 300)`,
      `${q}.a = (SELECT max(z.${value}) FROM ${name} z WHERE z.${key} = ${q}.k)`,
      `${q}.up IS NULL`,
    ]);
  }
}

/** Makes a statement. */
export function makeChange(random: Random): GeneratedChange {
  return new Generator(random).make();
}
