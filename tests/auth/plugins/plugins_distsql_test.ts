import { AsyncLocalStorage } from "node:async_hooks";
import { getDrizzleClient } from "../../../database/providers/client.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import { withDistSqlLab } from "../../support/distsql_lab.ts";
import { TABLE_PLUGINS } from "./all_plugins.ts";
import { FLOWS } from "./flows.ts";
import { generateSchema } from "./generated_schema.ts";

// see plugins_test.ts
const startFresh = AsyncLocalStorage.snapshot();

Deno.test({
  name:
    "createAuth() serves every plugin on the distributed engine with the migration of generate auth-schema",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(test) {
    const unmute = setLogOutput(() => {});
    await withDistSqlLab(async ({ config, backing, migrate }) => {
      const { authSchema, statements } = await generateSchema({
        plugins: TABLE_PLUGINS,
        audit: true,
        rateLimit: { storage: "database" },
      });
      await migrate([statements.join("\n--> statement-breakpoint\n")]);
      const db = await getDrizzleClient({ ...config, schema: authSchema });
      const query = async (sql: string) => [...await backing.unsafe(sql)];
      for (const [plugin, walk] of Object.entries(FLOWS)) {
        await test.step(plugin, () => startFresh(() => walk({ db, authSchema, query })));
      }
    });
    unmute();
  },
});
