import { assertEquals, assertRejects } from "@std/assert";
import { sql } from "drizzle-orm";
import { closeDrizzleClient, getDrizzleClient } from "../../../database/providers/client.ts";
import type { DatabaseConfig } from "../../../database/config/config.ts";
import { executeRows } from "../../../database/session/execute.ts";
import { applyPermissions } from "../../../database/permissions/apply.ts";
import { validatePermissions } from "../../../database/permissions/validate.ts";
import { withDistSqlRetry } from "../../../database/session/retry.ts";
import { startPostgres } from "../../support/postgres.ts";
import { withTempFolder } from "../../support/temp_folder.ts";
import { withDistSqlServer } from "../../support/distsql_server.ts";

const FILE = `
CREATE ROLE "\${PREFIX}-UserLogin" WITH LOGIN;
AWS IAM GRANT "\${PREFIX}-UserLogin" TO 'arn:aws:iam::\${ACCOUNT}:role/\${PREFIX}-UserLogin';
GRANT USAGE ON SCHEMA public TO "\${PREFIX}-UserLogin";
GRANT SELECT, INSERT ON "notes" TO "\${PREFIX}-UserLogin";
REVOKE SELECT ON "users" FROM "\${PREFIX}-UserLogin";
-- distsql: whole table
GRANT SELECT ("id") ON "users" TO "\${PREFIX}-UserLogin";
`;

Deno.test("applyPermissions() maps IAM roles and sends what differs on the distributed provider", {
  sanitizeOps: false,
  sanitizeResources: false,
}, async () => {
  const postgres = await startPostgres();
  const options = { backend: { url: postgres.url }, catalogConflicts: true };
  await withDistSqlServer(options, async (admin, server) => {
    // the configuration of a function: permissions are applied by the admin all the same
    const database: DatabaseConfig = { ...admin, isAdmin: undefined, username: "dev-UserLogin" };
    const env = { PREFIX: "dev", ACCOUNT: "000000000000" };
    try {
      const db = await getDrizzleClient(admin);
      const run = (text: string) =>
        withDistSqlRetry(() => executeRows(db, sql.raw(text)), { maxRetries: 8 });
      await run("CREATE TABLE notes (id uuid PRIMARY KEY)");
      await run("CREATE TABLE users (id uuid PRIMARY KEY)");
      await withTempFolder({ "permissions.sql": FILE }, async (permissionsFolder) => {
        const config = { permissionsFolder, database, env };
        assertEquals(await applyPermissions(config), { applied: 4, skipped: 2, errors: [] });
        assertEquals(await run("SELECT pg_role_name, arn FROM sys.iam_pg_role_mappings"), [
          { pg_role_name: "dev-UserLogin", arn: "arn:aws:iam::000000000000:role/dev-UserLogin" },
        ]);
        assertEquals(
          await run(`SELECT has_table_privilege('dev-UserLogin', 'users', 'SELECT') AS whole`),
          [{ whole: true }],
        );
        const before = server.statistics.commits;
        assertEquals(await applyPermissions(config), { applied: 0, skipped: 6, errors: [] });
        assertEquals(server.statistics.commits, before);

        await run(`REVOKE INSERT ON notes FROM "dev-UserLogin"`);
        await run(`AWS IAM GRANT "dev-UserLogin" TO 'arn:aws:iam::000000000000:role/other'`);
        await run(
          `AWS IAM REVOKE "dev-UserLogin" FROM 'arn:aws:iam::000000000000:role/dev-UserLogin'`,
        );
        const { gaps, surpluses } = await validatePermissions({ ...config, database: admin });
        assertEquals(gaps.map(({ message }) => message), [
          "INSERT on table public.notes to dev-UserLogin",
          "IAM principal arn:aws:iam::000000000000:role/dev-UserLogin as role dev-UserLogin",
        ]);
        assertEquals(surpluses.map(({ message }) => message), [
          "IAM principal arn:aws:iam::000000000000:role/other as role dev-UserLogin",
        ]);
        assertEquals(await applyPermissions(config), { applied: 2, skipped: 4, errors: [] });
        await assertRejects(() => applyPermissions({ ...config, env: {} }));
      });
    } finally {
      await closeDrizzleClient(admin);
      await closeDrizzleClient();
      await server.stop();
      await postgres.stop();
    }
  });
});
