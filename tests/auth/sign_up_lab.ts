import connect from "postgres";
import {
  AUTH_MIGRATION_SQL,
  type AuthConfig,
  type BetterAuthInstance,
  createAuth,
} from "../../auth/mod.ts";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  type DrizzleClient,
  getDrizzleClient,
  RATE_LIMIT_MIGRATION_SQL,
} from "../../database/mod.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { type FaultyProxy, startFaultyProxy } from "../support/faulty_proxy.ts";
import { startPostgres } from "../support/postgres.ts";
import { countRoundTrips, type RoundTrips } from "../support/round_trips.ts";
import { SECRET } from "./auth_database.ts";
import { FAST_PASSWORDS } from "./fast_passwords.ts";

/** Address of {@link SignUpLab.signUp}. */
export const EMAIL = "ada@example.com";

const BASE = "https://api.example.com";

/** A PostgreSQL with the auth tables, and a client with one connection. */
export interface SignUpLab {
  readonly db: DrizzleClient;
  /** Counts the round trips of the client. */
  readonly proxy: RoundTrips;
  /** Loses connections of the client. */
  readonly faulty: FaultyProxy;
  /** What the test has logged. */
  readonly lines: readonly string[];
  /** Runs statements on another connection. */
  execute(statements: string): Promise<Record<string, unknown>[]>;
  /** Creates a configuration that no other instance has. */
  createConfig(config?: Partial<AuthConfig>): AuthConfig;
  /** Creates an instance. */
  open(config?: Partial<AuthConfig>): BetterAuthInstance;
  /** Sends a sign-up. */
  signUp(auth: BetterAuthInstance, email?: string): Promise<Response>;
  /** Signs up and counts the round trips. */
  countSignUp(auth: BetterAuthInstance, email: string): Promise<[status: number, trips: number]>;
  /** Signs up in a warm process and counts the round trips. */
  countWarm(config?: Partial<AuthConfig>): Promise<[status: number, trips: number]>;
}

/** Starts the servers of a test file, whose tables each test gets empty. */
export async function openSignUpLab(): Promise<SignUpLab> {
  const postgres = await startPostgres();
  const faulty = await startFaultyProxy(postgres.port);
  const target = new URL(await postgres.createDatabase("sign_ups"));
  const direct = connect(target.href, { max: 1, onnotice: () => {} });
  target.port = String(faulty.port);
  const proxy = await countRoundTrips(target.href);
  const database: DatabaseConfig = {
    provider: "serverless-pg",
    connectionString: proxy.url,
    maxConnections: 1,
    instrument: false,
  };
  const db = await getDrizzleClient(database) as DrizzleClient;
  const lines: string[] = [];
  let restore: () => void;
  Deno.test.beforeEach(async () => {
    lines.length = 0;
    restore = setLogOutput((line) => void lines.push(line));
    await execute("drop schema public cascade; create schema public");
    await execute(AUTH_MIGRATION_SQL.replaceAll("--> statement-breakpoint", ""));
    await execute(RATE_LIMIT_MIGRATION_SQL);
  });
  Deno.test.afterEach(() => restore());
  Deno.test.afterAll(async () => {
    await closeDrizzleClient(database);
    await direct.end();
    await proxy.stop();
    await faulty.stop();
    await postgres.stop();
  });

  async function execute(statements: string): Promise<Record<string, unknown>[]> {
    return [...await direct.unsafe(statements)];
  }

  async function countSignUp(
    auth: BetterAuthInstance,
    email: string,
  ): Promise<[status: number, trips: number]> {
    const before = proxy.count();
    const { status } = await signUp(auth, email);
    return [status, proxy.count() - before];
  }

  const open = (config?: Partial<AuthConfig>) => createAuth(db, createConfig(config));
  return {
    db,
    proxy,
    faulty,
    lines,
    execute,
    createConfig,
    open,
    signUp,
    countSignUp,
    async countWarm(config) {
      const auth = open(config);
      for (const each of ["warm-1", "warm-2"]) await signUp(auth, `${each}@example.com`);
      return await countSignUp(auth, EMAIL);
    },
  };
}

let configs = 0;

function createConfig(config: Partial<AuthConfig> = {}): AuthConfig {
  return {
    secret: SECRET,
    baseURL: BASE,
    appName: `one statement ${++configs}`,
    rateLimit: { customRules: { "/**": { max: 1_000, window: 60 } } },
    accountLimits: { messages: { limit: 1_000, windowSeconds: 60 } },
    ...config,
    emailAndPassword: { enabled: true, password: FAST_PASSWORDS, ...config.emailAndPassword },
  };
}

function signUp(auth: BetterAuthInstance, email = EMAIL): Promise<Response> {
  return auth.handler(
    new Request(`${BASE}/api/auth/sign-up/email`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ name: "Ada", email, password: "correct horse battery" }),
    }),
  );
}
