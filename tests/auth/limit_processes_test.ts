import { assertEquals } from "@std/assert";
import { AUTH_MIGRATION_SQL, createAuth, createAuthHandler } from "../../auth/mod.ts";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  getDrizzleClient,
  RATE_LIMIT_MIGRATION_SQL,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { createHttpApiEvent, createLambdaContext } from "../../testing/mod.ts";
import { getDirectConfig, startPostgres } from "../support/postgres.ts";
import { SECRET } from "./auth_database.ts";
import { FAST_PASSWORDS } from "./fast_passwords.ts";

const IS_FULL = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const PROCESSES = IS_FULL ? 32 : 2;
/** Guesses of a process that are under way at once: those at the limit must meet. */
const TOGETHER = IS_FULL ? 4 : 30;
const ADDRESSES = IS_FULL ? 1_000 : 60;
const ADA = "ada@example.com", BOB = "bob@example.com";
const PASSWORD = "correct horse battery";

/** Runs a process that guesses the password from some addresses. */
async function guess(database: DatabaseConfig, first: number, addresses: number) {
  const input = JSON.stringify({ database, email: ADA, secret: SECRET, first, addresses });
  const { stdout, stderr, success } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", new URL("guessing_process.ts", import.meta.url).href, input],
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout)) as Record<string, number>;
}

Deno.test({
  name:
    "the limit of one account holds exactly for many processes and addresses, and hinders no other account",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const unmute = setLogOutput(() => {});
    const server = await startPostgres();
    const database = getDirectConfig(server.url);
    try {
      const db = await getDrizzleClient(database);
      for (const statement of AUTH_MIGRATION_SQL.split("--> statement-breakpoint")) {
        await db.execute(sql.raw(statement));
      }
      await db.execute(sql.raw(RATE_LIMIT_MIGRATION_SQL));
      const auth = createAuth(db, {
        secret: SECRET,
        baseURL: "https://api.example.com",
        emailAndPassword: { enabled: true, password: FAST_PASSWORDS },
      });
      for (const email of [ADA, BOB]) {
        await auth.api.signUpEmail({ body: { name: "x", email, password: PASSWORD } });
      }
      const shares = Array.from({ length: PROCESSES }, (_, at) => {
        const first = Math.floor(at * ADDRESSES / PROCESSES);
        return [first, Math.floor((at + 1) * ADDRESSES / PROCESSES) - first] as const;
      });
      const guesses = Promise.all(
        shares.map(([first, count]) =>
          guess({ ...database, maxConnections: TOGETHER }, first, count)
        ),
      );
      let isDone = false;
      guesses.finally(() => isDone = true).catch(() => {});
      const honest: number[] = [];
      for (let at = 0; !isDone || at < 3; at++) {
        const event = createHttpApiEvent({
          method: "POST",
          path: "/api/auth/sign-in/email",
          body: { email: BOB, password: PASSWORD },
        });
        const http = { ...event.requestContext.http, sourceIp: `10.2.${at >> 8}.${at & 255}` };
        const sent = { ...event, requestContext: { ...event.requestContext, http } };
        honest.push((await createAuthHandler(() => auth)(sent, createLambdaContext())).statusCode);
      }
      const counts: Record<string, number> = {};
      for (const each of await guesses) {
        for (const [status, count] of Object.entries(each)) {
          counts[status] = (counts[status] ?? 0) + count;
        }
      }
      assertEquals(counts, { 401: 20, 429: ADDRESSES - 20 });
      assertEquals(honest.filter((status) => status !== 200), []);
      // deno-lint-ignore no-console -- the figures of the run
      console.info(
        `${PROCESSES} processes, ${ADDRESSES} addresses, ${honest.length} honest sign-ins`,
      );
    } finally {
      await closeDrizzleClient(database);
      await server.stop();
      unmute();
    }
  },
});
