/** `trellis build` where it cannot read what a function needs from the text of its sources. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { dirname, join } from "node:path";
import { pickPackages } from "./support/pick_packages.ts";
import { type ProgramResult, runProgram } from "../../scripts/program.ts";

// one driver and no auth library
const installed = await pickPackages([
  "drizzle-orm@0.45.4",
  "postgres@3.4.9",
  "zod@4.6.7",
  "acorn@8.19.0",
  "esbuild@0.28.2",
]);

const CALL = `
const { handler } = await import(process.argv[1]);
const context = { awsRequestId: "r", functionName: "f", getRemainingTimeInMillis: () => 5000 };
const event = { httpMethod: "GET", path: "/", headers: {}, requestContext: {} };
console.log((await handler(event, context)).statusCode);
`;

interface Project {
  write(files: Readonly<Record<string, string>>): Promise<void>;
  build(): Promise<ProgramResult>;
  call(name: string): Promise<ProgramResult>;
}

async function withProject(fn: (project: Project) => Promise<void>): Promise<void> {
  const cwd = await Deno.makeTempDir({ dir: installed.folder, prefix: "build-" });
  const trellis = join(installed.folder, "node_modules", ".bin", "trellis");
  try {
    await fn({
      async write(files) {
        for (const [path, text] of Object.entries(files)) {
          await Deno.mkdir(dirname(join(cwd, path)), { recursive: true });
          await Deno.writeTextFile(join(cwd, path), text);
        }
      },
      build: () => runProgram(trellis, ["build"], { cwd }),
      call: (name) => {
        const bundle = join(cwd, "dist", name, "index.mjs");
        return runProgram("node", ["--input-type=module", "-e", CALL, bundle], { cwd });
      },
    });
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
}

/** A query through the client of a module. */
const ping = (database: string) => `
import { buildValidatedResponse, defineApiHandler } from "@trellis/fn";
import { executeRows } from "@trellis/fn/database";
import { sql } from "@trellis/fn/database/orm";
import { getDb } from "../../${database}.ts";
export const handler = defineApiHandler({})(async function ping({ context }) {
  return buildValidatedResponse(context, 200, { rows: await executeRows(await getDb(), sql\`select 1\`) });
});
`;

const IMPORT = `import { getDrizzleClient } from "@trellis/fn/database";\n`;
const NAMED = `${IMPORT}
export const getDb = () => getDrizzleClient({ provider: "serverless-pg", connectionString: "postgres://127.0.0.1:1/d" });
`;

/** Configurations whose provider is not in their text, and the place that is named. */
const UNREADABLE: Readonly<Record<string, { readonly database: string; readonly place: string }>> =
  {
    variable: {
      database: `${IMPORT}
const provider = process.env.PROVIDER as "distsql";
export const getDb = () => getDrizzleClient({ provider, endpoint: "e.dsql.eu-central-1.on.aws", username: "u" });
`,
      place: "4:47",
    },
    call: {
      database:
        `${IMPORT}const pick = (): "distsql" => JSON.parse(process.env.CONFIG ?? '"distsql"');
export const getDb = () =>
  getDrizzleClient({
    provider: pick(),
    endpoint: "e.dsql.eu-central-1.on.aws",
    username: "u",
  });
`,
      place: "5:15",
    },
    whole: {
      database:
        `${IMPORT}export const getDb = () => getDrizzleClient(JSON.parse(process.env.CONFIG ?? "{}"));
`,
      place: "2:28",
    },
  };

Deno.test("trellis build bundles functions and names the places where the provider is not in the text", async () => {
  await withProject(async ({ write, build }) => {
    const databases = { ...UNREADABLE, named: { database: NAMED } };
    await write(Object.fromEntries(
      Object.entries(databases).flatMap(([name, { database }]) => [
        [`src/${name}.ts`, database],
        [`src/functions/api/${name}.get.ts`, ping(name)],
      ]),
    ));
    const { code, stderr } = await build();
    assertEquals(code, 0, stderr);
    for (const [name, { place }] of Object.entries(UNREADABLE)) {
      assertStringIncludes(stderr, `src/${name}.ts:${place}: the provider cannot be determined`);
      const fn = name[0].toUpperCase() + name.slice(1);
      assertStringIncludes(
        stderr,
        `The installed drivers of branching-pg, distsql, postgres, serverless-pg are bundled into ${fn}. `,
      );
    }
    assertEquals(/named\.ts|\bNamed\b/.test(stderr), false, stderr);
    // the setting answers the question
    await write({
      "trellis.config.ts": `export default { build: { databaseProviders: ["serverless-pg"] } };`,
    });
    const { stderr: answered } = await build();
    assertEquals(answered.includes("cannot be determined"), false, answered);
  });
});

Deno.test("trellis build says what to install when a named provider lacks its package", async () => {
  await withProject(async ({ write, build }) => {
    await write({
      "src/database.ts": `import { getDrizzleClient } from "@trellis/fn/database";
export const getDb = () => getDrizzleClient({ provider: "branching-pg", connectionString: "postgres://127.0.0.1:1/d" });
`,
      "src/functions/api/ping.get.ts": ping("database"),
    });
    const { code, stdout } = await build();
    assertEquals(code, 1);
    assertStringIncludes(stdout, 'npm install "@neondatabase/serverless@');
  });
});

/** What the wrapper asks of better-auth, in place of the library itself. */
const LIBRARY = {
  "node_modules/better-auth/package.json": JSON.stringify({
    name: "better-auth",
    version: "1.7.7",
    type: "module",
    exports: { "./*": "./index.js" },
  }),
  "node_modules/better-auth/index.js": `
const nothing = () => ({});
export const betterAuth = () => { console.log("better-auth is loaded"); throw new Error("a stand-in"); };
export { nothing as drizzleAdapter, nothing as bearer, nothing as genericOAuth };
export { nothing as createAuthMiddleware, nothing as getOAuthState, nothing as revokeUnprovenAccountAccess };
export const socialProviderList = [];
`,
};

Deno.test("trellis build leaves the auth library in where build.betterAuth says so", async () => {
  await withProject(async ({ write, build, call }) => {
    await write({
      ...LIBRARY,
      "package.json": '{ "type": "module" }',
      // its manifest does not say that it builds on @trellis/fn
      "node_modules/company-auth/package.json":
        '{ "name": "company-auth", "type": "module", "main": "index.js" }',
      "node_modules/company-auth/index.js": `
import { createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
export const companyAuth = () => createAuthHandler(getConfiguredSessionAuth);
`,
      "src/functions/api/auth/get-session.get.ts": `
import { configureSessionAuth } from "@trellis/fn/auth";
import { drizzle } from "drizzle-orm/pg-proxy";
import { companyAuth } from "company-auth";
configureSessionAuth(() => Promise.resolve(drizzle(() => Promise.resolve({ rows: [] })) as never), {
  secret: "0123456789abcdef0123456789abcdef",
  baseURL: "https://api.example.com",
});
export const handler = companyAuth();
`,
    });
    assertEquals((await build()).code, 0);
    const without = await call("AuthGetSession");
    assertStringIncludes(
      without.stdout + without.stderr,
      "Add the function's name to build.betterAuth in trellis.config.ts",
    );

    await write({
      "trellis.config.ts": `export default { build: { betterAuth: ["AuthGetSession"] } };`,
    });
    assertEquals((await build()).code, 0);
    assertStringIncludes((await call("AuthGetSession")).stdout, "better-auth is loaded");

    await write({ "trellis.config.ts": `export default { build: { betterAuth: ["Other"] } };` });
    assertStringIncludes(
      (await build()).stderr,
      "build.betterAuth: Other does not match a function",
    );
  });
});
