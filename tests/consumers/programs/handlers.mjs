// deno-lint-ignore-file no-console
// A plain handler, and one that checks sessions in a database of the embedded PostgreSQL.
import { buildValidatedResponse, defineApiHandler } from "@trellis/fn";
import { configureSessionAuth } from "@trellis/fn/auth";
import { createLambdaContext, createRestApiEvent, createTestDatabase } from "@trellis/fn/testing";
import * as z from "zod";

const plain = defineApiHandler({
  schema: z.object({ n: z.number() }),
  logging: { level: "SILENT" },
})(
  function twice({ body, context }) {
    return buildValidatedResponse(context, 200, { twice: body.n * 2 });
  },
);
const event = createRestApiEvent({ method: "POST", body: { n: 21 } });
console.log((await plain(event, createLambdaContext())).body);

const { AUTH_MIGRATION_SQL } = await import("@trellis/fn/auth/schema");
const { mkdtemp, writeFile, rm } = await import("node:fs/promises");
const folder = await mkdtemp("migrations-");
await writeFile(folder + "/0001_auth.sql", AUTH_MIGRATION_SQL);
const database = await createTestDatabase({ migrationsFolder: folder });
configureSessionAuth(() => Promise.resolve(database.db), {
  secret: "0123456789abcdef0123456789abcdef",
  baseURL: "https://api.example.com",
});
const session = defineApiHandler({ auth: "session", logging: { level: "SILENT" } })(
  function whoAmI({ userId, context }) {
    return buildValidatedResponse(context, 200, { userId });
  },
);
console.log(
  (await session(
    createRestApiEvent({ headers: { Authorization: "Bearer none" } }),
    createLambdaContext(),
  )).statusCode,
);
await database.close();
await rm(folder, { recursive: true });
