// deno-lint-ignore-file no-console -- the figures are part of the result
import { assert, assertInstanceOf, assertRejects } from "@std/assert";
import { AUTH_MIGRATION_SQL, createAuth, expireSession, validateSession } from "../../auth/mod.ts";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
} from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { UnauthorizedError } from "../../errors/mod.ts";
import { setLogOutput } from "../../observability/mod.ts";
import { startPostgres } from "../support/postgres.ts";

const rounds = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 1_000 : 15;
const AUTH = { secret: "Zr8vY2kQ0b7Xn4Wm1Tj6Lp3Hs9Dg5FcA-test", baseURL: "http://localhost:3000" };
const USER = "00000000-0000-4000-8000-000000000001";

Deno.test("a session that is extended and ended at the same moment is ended, once, and stays so", async () => {
  const postgres = await startPostgres();
  const restore = setLogOutput(() => {});
  try {
    // the second one is what the distributed provider does: one of two writers meets a conflict
    for (const isolation of ["read committed", "repeatable read"]) {
      const url = new URL(await postgres.createDatabase(isolation.replace(" ", "_")));
      url.searchParams.set("default_transaction_isolation", isolation);
      const config: DatabaseConfig = {
        provider: "serverless-pg",
        connectionString: url.href,
        maxConnections: 8,
        instrument: false,
      };
      const db = await getDrizzleClient(config);
      for (const statement of AUTH_MIGRATION_SQL.split("--> statement-breakpoint")) {
        await db.execute(sql.raw(statement));
      }
      await db.execute(
        sql`INSERT INTO users (id, name, email) VALUES (${USER}, 'Ada', 'ada@example.com')`,
      );
      const auth = createAuth(db, AUTH);
      let passed = 0, refused = 0, both = 0;
      for (let round = 0; round < rounds; round++) {
        const token = crypto.randomUUID().repeat(2);
        // an hour before its end it is due to be extended
        await db.execute(sql`INSERT INTO sessions (user_id, token, created_at, expires_at)
          VALUES (${USER}, ${token}, now() - interval '30 days', now() + interval '1 hour')`);
        const [checks, ends] = await Promise.all([
          Promise.allSettled(Array.from({ length: 4 }, () => validateSession(auth, token))),
          Promise.allSettled(Array.from({ length: 2 }, () => expireSession(auth, token, db))),
        ]);
        // one sign-out ends the session; the other one is told that there is none, or, where it read the clock before the first
        // one and was served after it, that it has ended it
        const ended = ends.filter(({ status }) => status === "fulfilled").length;
        assert(ended >= 1, isolation);
        both += ended - 1;
        for (const result of [...checks, ...ends]) {
          if (result.status === "rejected") assertInstanceOf(result.reason, UnauthorizedError);
        }
        passed += checks.filter(({ status }) => status === "fulfilled").length;
        refused += checks.filter(({ status }) => status === "rejected").length;
        await assertRejects(() => validateSession(auth, token), UnauthorizedError);
        const [row] = await executeRows<{ ended: boolean }>(
          db,
          sql`SELECT expires_at <= now() + interval '1 second' AS ended FROM sessions WHERE token = ${token}`,
        );
        assert(row.ended, "the row says that it has ended");
      }
      console.log(
        `${isolation}: ${rounds} rounds, 2 sign-outs and 4 requests each: ${passed} passed, ${refused} refused, 0 revived; both sign-outs told of success ${both} times`,
      );
      await closeDrizzleClient(config);
    }
  } finally {
    restore();
    await closeDrizzleClient();
    await postgres.stop();
  }
});
