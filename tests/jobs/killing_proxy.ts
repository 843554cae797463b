import type { SQL } from "drizzle-orm";
import { type DatabaseConfig, type DrizzleClient, withDistSqlRetry } from "../../database/mod.ts";
import { runMigrations } from "../../database/migrations/run.ts";
import { startTcpProxy } from "../support/tcp_proxy.ts";

/** Moment of a message at which a client is killed. */
export type KillPhase = "before it is sent" | "before its answer" | "after its answer";

/** All moments. */
export const PHASES: readonly KillPhase[] = [
  "before it is sent",
  "before its answer",
  "after its answer",
];

/** A proxy that tells when a client has sent so many messages. */
export interface KillingProxy {
  readonly port: number;
  /** Number of messages since `arm`. */
  count(): number;
  /** Calls `kill` at a message; `undefined` only counts. */
  arm(at: { message: number; phase: KillPhase; kill: () => void } | undefined): void;
  stop(): Promise<void>;
}

/**
 * Starts a proxy in front of a server. A message is a chunk that a client sends.
 *
 * @param port The server's port on the loopback interface.
 */
export async function startKillingProxy(port: number): Promise<KillingProxy> {
  let messages = 0;
  let plan: Parameters<KillingProxy["arm"]>[0];
  const isAt = (phase: KillPhase) => plan?.message === messages && plan.phase === phase;
  const proxy = await startTcpProxy(port, () => ({
    onSent(pass): void {
      messages++;
      if (isAt("before it is sent")) return plan!.kill();
      pass();
    },
    onAnswered(pass): void {
      if (isAt("before its answer")) return plan!.kill();
      pass();
      // the client has had the answer for a moment
      if (isAt("after its answer")) setTimeout(plan!.kill, 1);
    },
  }));
  return {
    ...proxy,
    count: () => messages,
    arm(next): void {
      messages = 0;
      plan = next;
    },
  };
}

/** Creates tables with the SQL of several migrations. */
export async function migrate(
  config: DatabaseConfig,
  migrations: readonly string[],
): Promise<void> {
  const migrationsFolder = await Deno.makeTempDir();
  for (const [n, text] of migrations.entries()) {
    await Deno.writeTextFile(`${migrationsFolder}/000${n + 1}_tables.sql`, text);
  }
  await runMigrations({ migrationsFolder, database: config });
  await Deno.remove(migrationsFolder, { recursive: true });
}

/** Result of a process that may have been killed. */
export interface KilledProcess {
  readonly wasKilled: boolean;
  readonly output: string;
}

/**
 * Runs a process that gets arguments as JSON.
 *
 * @param script Its URL.
 * @param args Its arguments, such as a database and a number of orders.
 * @param arm Gets the function that kills it.
 */
export async function runKilled(
  script: URL,
  args: readonly unknown[],
  arm: (kill: () => void) => void = () => {},
): Promise<KilledProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", script.pathname, ...args.map((each) => JSON.stringify(each))],
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  arm(() => {
    try {
      child.kill("SIGKILL");
    } catch {
      // it has ended
    }
  });
  const { signal, stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return { wasKilled: signal !== null, output: decoder.decode(stdout) + decoder.decode(stderr) };
}

/** Runs a statement of the test, again while it conflicts with one that a killed process has sent. */
export async function executeAgain(db: DrizzleClient, query: SQL): Promise<void> {
  await withDistSqlRetry(async () => void await db.execute(query), { maxRetries: 20 });
}
