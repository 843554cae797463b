/**
 * The first connection and the first requests of a process on the local Aurora DSQL server, beside
 * the same on PostgreSQL without TLS: times, and round trips that a proxy counts. The client is that
 * of a function: a token for each connection, TLS from the first byte, one connection.
 *
 * The server signs nothing and runs on this machine, in the process of the client and on PostgreSQL:
 * its times say nothing about a cluster. The round trips and the client's work are those of a function.
 *
 *   deno run -A bench/distsql_first_request.ts [--rounds 15]
 *
 * @module
 */
// deno-lint-ignore-file no-console
import { eq } from "drizzle-orm";
import { pgTable, text, uuid } from "drizzle-orm/pg-core";
import { parseArgs } from "node:util";
import {
  AUTH_MIGRATION_SQL,
  configureSessionAuth,
  createAuthHandler,
  getConfiguredSessionAuth,
  resetSessionAuth,
} from "../auth/mod.ts";
import {
  closeDrizzleClient,
  createQueryFactory,
  type DatabaseConfig,
  DatabaseOperation,
  getDrizzleClient,
  RATE_LIMIT_MIGRATION_SQL,
} from "../database/mod.ts";
import { createDsqlToken } from "../database/providers/distsql.ts";
import { sql } from "../database/orm.ts";
import { setLogOutput } from "../observability/mod.ts";
import { createHttpApiEvent, createLambdaContext } from "../testing/mod.ts";
import { withDistSqlLab } from "../tests/support/distsql_lab.ts";
import { startPostgres } from "../tests/support/postgres.ts";
import { countRoundTrips, type RoundTrips } from "../tests/support/round_trips.ts";
import { defineApiHandler } from "../validation/mod.ts";

const { values } = parseArgs({ options: { rounds: { type: "string" } } });
const ROUNDS = Number(values.rounds ?? 15);
const NOTES_SQL =
  "CREATE TABLE notes (id uuid PRIMARY KEY, user_id uuid NOT NULL, title text NOT NULL)";
const PASSWORD = "correct horse battery";

const notes = pgTable("notes", {
  id: uuid("id").primaryKey(),
  userId: uuid("user_id").notNull(),
  title: text("title").notNull(),
});

interface Step {
  readonly name: string;
  /** Runs before each measurement. */
  readonly prepare?: () => Promise<unknown>;
  readonly run: () => Promise<unknown>;
}

interface Figure {
  readonly ms: number;
  readonly trips: number;
}

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

let address = 0;

/** Creates an event of another client each time, so that no limit is reached. */
function createEvent(path: string, options: { body?: unknown; token?: string }) {
  const { body, token } = options;
  const event = createHttpApiEvent({
    method: body === undefined ? "GET" : "POST",
    path,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    body,
  });
  const sourceIp = `10.0.${++address >> 8}.${address & 255}`;
  const http = { ...event.requestContext.http, sourceIp };
  return { ...event, requestContext: { ...event.requestContext, http } };
}

/** Returns the measured steps on a database. */
async function createSteps(config: DatabaseConfig): Promise<Step[]> {
  const getDb = () => getDrizzleClient(config);
  resetSessionAuth();
  configureSessionAuth(getDb, {
    secret: "a secret of at least thirty-two characters",
    baseURL: "https://api.example.com",
  });
  const { definePreparedQuery } = createQueryFactory(getDb);
  const listNotes = definePreparedQuery(
    { tables: [{ table: notes, operations: [DatabaseOperation.Select] }] },
    async function listNotes(db, userId: string) {
      const query = db.select().from(notes).where(eq(notes.userId, sql.placeholder("userId")));
      return await query.prepare("list_notes").execute({ userId });
    },
  );
  const list = defineApiHandler({ auth: "session" })(async function list({ userId }) {
    return { statusCode: 200, body: JSON.stringify(await listNotes(userId)) };
  });
  const auth = createAuthHandler(getConfiguredSessionAuth);
  async function sign(path: string, email: string): Promise<string> {
    const body = { name: "Ada", email, password: PASSWORD };
    const answer = await auth(
      createEvent(`/api/auth/${path}/email`, { body }),
      createLambdaContext(),
    );
    if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${answer.body}`);
    return JSON.parse(answer.body).token;
  }
  const token = await sign("sign-up", "ada@example.com");
  const close = () => closeDrizzleClient(config);
  async function get(): Promise<void> {
    const { statusCode } = await list(createEvent("/notes", { token }), createLambdaContext());
    if (statusCode !== 200) throw new Error(`GET /notes: ${statusCode}`);
  }
  let users = 0;
  return [
    {
      name: "connect, first statement",
      prepare: close,
      run: async () => await (await getDb()).execute(sql`select 1`),
    },
    { name: "first `GET` of a process", prepare: close, run: get },
    { name: "next `GET`", prepare: get, run: get },
    {
      name: "first sign-in of a process",
      prepare: close,
      run: () => sign("sign-in", "ada@example.com"),
    },
    { name: "next sign-in", run: () => sign("sign-in", "ada@example.com") },
    { name: "next sign-up", run: () => sign("sign-up", `user-${++users}@example.com`) },
  ];
}

async function measure(steps: readonly Step[], proxy: RoundTrips): Promise<Map<string, Figure>> {
  const figures = new Map<string, Figure>();
  for (const { name, prepare, run } of steps) {
    const times: number[] = [], trips: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await prepare?.();
      const before = proxy.count();
      const startedAt = performance.now();
      await run();
      times.push(performance.now() - startedAt);
      trips.push(proxy.count() - before);
    }
    figures.set(name, { ms: median(times), trips: median(trips) });
  }
  return figures;
}

async function measurePostgres(): Promise<Map<string, Figure>> {
  const postgres = await startPostgres();
  const proxy = await countRoundTrips(postgres.url);
  const config: DatabaseConfig = {
    provider: "serverless-pg",
    connectionString: proxy.url,
    maxConnections: 1,
  };
  try {
    const db = await getDrizzleClient(config);
    for (const script of [AUTH_MIGRATION_SQL, RATE_LIMIT_MIGRATION_SQL, NOTES_SQL]) {
      for (const statement of script.split("--> statement-breakpoint")) {
        await db.execute(sql.raw(statement));
      }
    }
    return await measure(await createSteps(config), proxy);
  } finally {
    await closeDrizzleClient(config);
    await proxy.stop();
    await postgres.stop();
  }
}

async function measureDistSql(): Promise<{ figures: Map<string, Figure>; tokenMs: number }> {
  let figures = new Map<string, Figure>();
  let tokenMs = 0;
  await withDistSqlLab(async ({ server, config, migrate }) => {
    await migrate([AUTH_MIGRATION_SQL, RATE_LIMIT_MIGRATION_SQL, NOTES_SQL]);
    const proxy = await countRoundTrips(`postgres://localhost:${server.port}/postgres`);
    const { port } = new URL(proxy.url);
    const proxied = { ...config, endpoint: `localhost:${port}`, maxConnections: 1 };
    const options = { host: "localhost", region: server.region, isAdmin: true };
    const sign = await createDsqlToken(options);
    const times: number[] = [];
    for (let n = 0; n < 500; n++) {
      const startedAt = performance.now();
      await sign();
      times.push(performance.now() - startedAt);
    }
    tokenMs = median(times);
    try {
      figures = await measure(await createSteps(proxied), proxy);
    } finally {
      await closeDrizzleClient(proxied);
      await proxy.stop();
    }
  });
  return { figures, tokenMs };
}

setLogOutput(() => {});
const plain = await measurePostgres();
const { figures: distsql, tokenMs } = await measureDistSql();
console.log(`A token is signed in ${tokenMs.toFixed(2)} ms. Medians of ${ROUNDS} rounds:\n`);
console.log("| | PostgreSQL | round trips | local Aurora DSQL server | round trips |");
console.log("| --- | ---: | ---: | ---: | ---: |");
for (const [name, { ms, trips }] of plain) {
  const other = distsql.get(name)!;
  console.log(
    `| ${name} | ${ms.toFixed(1)} ms | ${trips} | ${other.ms.toFixed(1)} ms | ${other.trips} |`,
  );
}
