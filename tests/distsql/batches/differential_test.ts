// deno-lint-ignore-file no-console -- the figures are part of the result
import { assertEquals } from "@std/assert";
import postgres from "postgres";
import { MigrationPlanError } from "../../../database/migrate.ts";
import { type DatabaseConfig, runMigrations } from "../../../database/mod.ts";
import { type DistSqlServer, startDistSqlServer } from "../../../distsql/server/server.ts";
import { startPostgres } from "../../support/postgres.ts";
import { type GeneratedChange, makeChange, makeTables } from "./generated_changes.ts";
import { createRandom, type Random } from "../../support/random.ts";
import { testSeed } from "../../support/seed.ts";
import { getAdminConfig } from "../../support/distsql_server.ts";

/** `TRELLIS_FULL_TESTS=1` runs 5,000 statements. */
const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const STATEMENTS = Number(Deno.env.get("TRELLIS_CASES") ?? (isFull ? 5000 : 20));
const PER_ROUND = isFull ? 50 : 10;
const seed = testSeed;

/** What became of a statement. */
type Outcome = "equal" | "refused" | "failed on both" | "different";

interface Tally {
  readonly outcomes: Map<Outcome, number>;
  readonly differences: string[];
  cut: number;
  resumed: number;
  partial: number;
}

/** The tables of a round on both sides: the reference is a transaction that is rolled back. */
class Round {
  readonly #sql: postgres.Sql;
  readonly #server: DistSqlServer;
  readonly #random: Random;
  readonly #tally: Tally;
  readonly #database: DatabaseConfig;
  #tag = 0;

  constructor(sql: postgres.Sql, server: DistSqlServer, random: Random, tally: Tally) {
    this.#sql = sql;
    this.#server = server;
    this.#random = random;
    this.#tally = tally;
    this.#database = getAdminConfig(server);
  }

  async create(statements: readonly string[]): Promise<void> {
    for (const statement of statements) await this.#sql.unsafe(statement);
    const copies = ["t", "r", "c"].map((name) =>
      `CREATE TABLE spare.${name} AS SELECT * FROM public.${name}`
    );
    await this.#sql.unsafe(`CREATE SCHEMA spare; ${copies.join("; ")}`);
    await this.#sql.unsafe(
      "ALTER TABLE t OWNER TO admin; ALTER TABLE r OWNER TO admin; ALTER TABLE c OWNER TO admin",
    );
    await this.#sql.unsafe(
      "GRANT SELECT ON v_t, v_vt, v_r TO admin; ALTER VIEW v_t OWNER TO admin; ALTER VIEW v_r OWNER TO admin; ALTER VIEW v_vt OWNER TO admin",
    );
  }

  async #hash(): Promise<string> {
    const parts = ["t", "r", "c"].map((name) =>
      `(SELECT count(*) || ' ' || coalesce(sum(hashtextextended(x::text, 0)::numeric), 0) FROM ${name} AS x)`
    );
    const [row] = await this.#sql.unsafe(`SELECT concat_ws(', ', ${parts.join(", ")}) AS hash`);
    return row.hash;
  }

  async #restore(): Promise<void> {
    await this.#sql.unsafe(
      "SET session_replication_role = replica; TRUNCATE t, r, c; INSERT INTO t SELECT * FROM spare.t; " +
        "INSERT INTO r SELECT * FROM spare.r; INSERT INTO c SELECT * FROM spare.c; SET session_replication_role = origin; " +
        "DROP VIEW IF EXISTS late_v; ANALYZE t, r, c",
    );
  }

  /** The rows after the statement on PostgreSQL, or the SQLSTATE of its failure. */
  async #reference(
    { before, sql }: GeneratedChange,
  ): Promise<{ hash: string } | { sqlState: string }> {
    await this.#sql.unsafe("BEGIN");
    try {
      for (const statement of [...before, sql]) await this.#sql.unsafe(statement);
      return { hash: await this.#hash() };
    } catch (error) {
      return { sqlState: String((error as { code?: string }).code) };
    } finally {
      await this.#sql.unsafe("ROLLBACK");
    }
  }

  async #migrate({ before, sql }: GeneratedChange): Promise<unknown> {
    const migrationsFolder = await Deno.makeTempDir();
    const [first, second] = [++this.#tag, ++this.#tag].map((tag) => String(tag).padStart(6, "0"));
    if (before.length > 0) {
      await Deno.writeTextFile(`${migrationsFolder}/${first}_a.sql`, before.join(";\n"));
    }
    await Deno.writeTextFile(`${migrationsFolder}/${second}_b.sql`, sql);
    const run = (lockTtlSeconds: number): Promise<unknown> =>
      runMigrations({
        migrationsFolder,
        database: this.#database,
        lockTtlSeconds,
        logger: (line) => this.#see(line),
      })
        .then(() => undefined, (error) => error);
    try {
      const error = await this.#withFault(run);
      return error;
    } finally {
      await Deno.remove(migrationsFolder, { recursive: true });
      const tables = ["__orm_migrations", "__orm_migrations_steps"].map((name) =>
        `DELETE FROM orm.${name}`
      );
      await this.#sql.unsafe(tables.join("; ")).catch(() => {});
    }
  }

  #see(line: string): void {
    if (line.includes("in batches of")) this.#tally.cut++;
  }

  /** Lets some runs meet a conflict or lose their connection, and some die and begin again. */
  async #withFault(run: (lockTtlSeconds: number) => Promise<unknown>): Promise<unknown> {
    if (this.#random.next() > 0.4) return await run(60);
    const match = /^(?:WITH|UPDATE|DELETE)\b[\s\S]*\bt\b[\s\S]*<=/;
    const skip = this.#random.below(4);
    const fault = this.#random.pick([
      "OC000",
      "cut-after-commit",
      "cut-before-commit",
      "unavailable-after-commit",
      "die",
    ]);
    if (fault !== "die") {
      const injected = this.#server.inject({ fault: fault as "OC000", match, skip });
      const error = await run(60);
      injected.remove();
      return error;
    }
    const cut = this.#server.inject({ fault: "cut-at-statement", match, skip });
    const denied = this.#server.inject({ fault: "access-denied", times: Infinity, skip: 1 });
    const error = await run(2); // what a dead run leaves is taken over so soon
    const hasDied = cut.remaining === 0;
    cut.remove();
    denied.remove();
    if (!hasDied) {
      return error === undefined || error instanceof MigrationPlanError ? error : await run(60);
    }
    this.#tally.resumed++;
    return await run(60);
  }

  async compare(change: GeneratedChange, base: string): Promise<Outcome> {
    const expected = await this.#reference(change);
    const error = await this.#migrate(change);
    const hash = await this.#hash();
    const isRefused = error instanceof MigrationPlanError &&
      error.findings.some(({ rule }) => rule === "unbatchable-change");
    const isFailed = error !== undefined && !isRefused;
    if (isFailed && "sqlState" in expected && hash !== base) this.#tally.partial++;
    const outcome = isRefused
      ? hash === base ? "refused" : "different"
      : isFailed
      ? "sqlState" in expected ? "failed on both" : "different"
      : "hash" in expected && expected.hash === hash
      ? "equal"
      : "different";
    if (Deno.env.get("TRELLIS_VERBOSE")) {
      console.log(outcome, "|", change.sql, "|", (error as Error | undefined)?.message ?? "");
    }
    if (outcome === "different") {
      this.#tally.differences.push(
        `${[...change.before, change.sql].join("; ")}\n  PostgreSQL ${
          JSON.stringify(expected)
        }, here ${hash} ${error ?? ""}`,
      );
    }
    if (hash !== base || change.before.length > 0) await this.#restore();
    return outcome;
  }

  hash(): Promise<string> {
    return this.#hash();
  }
}

Deno.test({
  name:
    "runMigrations() on distsql leaves the rows that PostgreSQL leaves after generated changes, or refuses them",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    console.log(`TRELLIS_SEED=${seed}, ${STATEMENTS} statements`);
    const random = createRandom(seed);
    const tally: Tally = { outcomes: new Map(), differences: [], cut: 0, resumed: 0, partial: 0 };
    const server = await startPostgres({ settings: ["autovacuum=off"] });
    try {
      for (let done = 0; done < STATEMENTS; done += PER_ROUND) {
        const url = await server.createDatabase(`round${done}`);
        await runRound(url, Math.min(PER_ROUND, STATEMENTS - done), random, tally);
        if (isFull) console.log(done + PER_ROUND, Object.fromEntries(tally.outcomes));
      }
    } finally {
      await server.stop();
    }
    console.log(
      `${STATEMENTS} statements:`,
      Object.fromEntries(tally.outcomes),
      `${tally.cut} cut into batches, ${tally.resumed} died and went on, ${tally.partial} failed on both after a part was done`,
    );
    assertEquals(tally.differences, []);
  },
});

async function runRound(url: string, count: number, random: Random, tally: Tally): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const standIn = await startDistSqlServer({ backend: { url } });
  Deno.env.set("AWS_ACCESS_KEY_ID", standIn.principal.accessKeyId);
  Deno.env.set("AWS_SECRET_ACCESS_KEY", standIn.principal.secretAccessKey);
  try {
    const tables = makeTables(random);
    const round = new Round(sql, standIn, random, tally);
    await round.create(tables.sql);
    const base = await round.hash();
    for (let at = 0; at < count; at++) {
      const before = tally.differences.length;
      const outcome = await round.compare(makeChange(random), base);
      tally.outcomes.set(outcome, (tally.outcomes.get(outcome) ?? 0) + 1);
      if (tally.differences.length > before) {
        console.log(`${tables.title}\n${tally.differences.at(-1)}`);
      }
    }
  } finally {
    await standIn.stop();
    await sql.end();
  }
}
