// deno-lint-ignore-file no-console
import { createHmac } from "node:crypto";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { setLocalEnvironment } from "./local_environment.ts";

const port = Number(process.env.PORT || 8787);
if (!Number.isInteger(port) || port < 1 || port > 65535) {
  console.error(`PORT is ${process.env.PORT}: it must be a port, 1 to 65535`);
  process.exit(2);
}

console.error(
  "Starting the notes example on an embedded Postgres (the first start takes a few seconds) …",
);
const dataFolder = process.env.NOTES_DATA || fileURLToPath(new URL("./.data", import.meta.url));
setLocalEnvironment(dataFolder, port);
const { serveNotes } = await import("./serve.ts");
const server = await serveNotes(port).catch((error: Error) => {
  console.error(`Could not start: ${error.message}`);
  process.exit(1);
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, async () => {
    console.error("\nStopping …");
    await server.stop();
    process.exit(0);
  });
}

const json = `-H 'Content-Type: application/json'`;
const push = `{"ref":"refs/heads/main"}`;
const signature = createHmac("sha256", process.env.CODE_HOST_WEBHOOK_SECRET!).update(push).digest(
  "hex",
);

console.error(`
Notes runs at ${server.url} (OpenAPI document: ${server.url}/openapi.json). Try, one after the other:

  curl ${server.url}/health
  curl -X POST ${server.url}/auth/sign-up/email ${json} -d '{"name":"Ada","email":"ada@example.com","password":"correct-horse"}'
  TOKEN=$(curl -s -X POST ${server.url}/auth/sign-in/email ${json} -d '{"email":"ada@example.com","password":"correct-horse"}' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')
  curl -X POST ${server.url}/notes -H "Authorization: Bearer $TOKEN" ${json} -d '{"title":"Milk","labelId":"todo"}'
  curl "${server.url}/notes?label=todo&limit=5" -H "Authorization: Bearer $TOKEN"
  curl ${server.url}/welcome -H "Authorization: Bearer $TOKEN"
  curl -X POST ${server.url}/admin/reindex -H 'Authorization: Bearer ${process.env.API_BEARER_TOKEN}'
  curl -X POST ${server.url}/hooks/code-host ${json} -H 'X-GitHub-Delivery: d1' -H 'X-Hub-Signature-256: sha256=${signature}' -d '${push}'

Ctrl-C stops it. Its data is kept in ${dataFolder}
`);
