import { loadRoutes, startGateway } from "@trellis/fn/cli";
import { closeDrizzleClient, runMigrations } from "@trellis/fn/database";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { databaseConfig } from "./database.ts";

await runMigrations({
  migrationsFolder: fileURLToPath(new URL("../migrations", import.meta.url)),
  database: databaseConfig,
});
const gateway = await startGateway({
  routes: await loadRoutes(fileURLToPath(new URL("./functions/api", import.meta.url))),
  port: Number(process.env.PORT ?? 8787),
});

const json = "-H 'Content-Type: application/json'";
const ada = `'{"name":"Ada","email":"ada@example.com","password":"correct-horse"}'`;
console.log(`Notes runs at ${gateway.url}. Try, one after the other:

  curl -X POST ${gateway.url}/auth/sign-up/email ${json} -d ${ada}
  TOKEN=$(curl -s -X POST ${gateway.url}/auth/sign-in/email ${json} -d ${ada} | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')
  curl -X POST ${gateway.url}/notes -H "Authorization: Bearer $TOKEN" ${json} -d '{"title":"Milk"}'
  curl ${gateway.url}/notes -H "Authorization: Bearer $TOKEN"
`);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, async () => {
    await gateway.stop();
    await closeDrizzleClient();
    process.exit(0);
  });
}
