import { assertEquals } from "@std/assert";
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { renderPermissionFiles } from "../../../cli/grants/permission_files.ts";
import { analysePermissions, type FunctionPermissions } from "../../../cli/grants/permissions.ts";
import { findFunctionFiles } from "../../../cli/discovery/function_files.ts";
import type { ApiEvent, LambdaContext, ProxyResult } from "../../../core/mod.ts";
import type { AuthorizerHandler, ScheduleEvent } from "../../../triggers/mod.ts";
import { applyPermissions, closeDrizzleClient, runMigrations } from "../../../database/mod.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import {
  createLambdaContext,
  createRequestAuthorizerEvent,
  createRestApiEvent,
  createScheduleEvent,
} from "../../../testing/mod.ts";
import { startPostgres } from "../../support/postgres.ts";
import { withEnv } from "../../support/with_env.ts";

const EXAMPLE = fileURLToPath(new URL("../../../examples/notes", import.meta.url));
const OPERATIONS = ["SELECT", "INSERT", "UPDATE", "DELETE"];
const PASSWORD = "correct-horse";

type Handler = (event: ApiEvent, context: LambdaContext) => Promise<ProxyResult>;
type RelayHandler = (event: ScheduleEvent, context: LambdaContext) => Promise<unknown>;
type Call = Parameters<typeof createRestApiEvent>[0];

/** What is known while the functions: called one after the other. */
interface State {
  token: string;
  noteId: string;
}

/** A function's call, and the answer when it may do all that it needs. */
interface Scenario {
  readonly status: number;
  call(state: State): Call;
  after?(state: State, body: { id: string; token: string }): void;
}

const json = { "Content-Type": "application/json" };
const bearer = ({ token }: State) => ({ Authorization: `Bearer ${token}` });
const sign = (body: string, secret: string) =>
  createHmac("sha256", secret).update(body).digest("hex");
const user = { name: "Ada", email: "ada@example.com", password: PASSWORD };
let delivery = 0;

/** Scenarios by name of the function, and what it does. */
const SCENARIOS: Readonly<Record<string, Scenario>> = {
  "AuthByProxy signs up": {
    status: 200,
    call: () => ({ method: "POST", path: "/auth/sign-up/email", headers: json, body: user }),
  },
  "AuthByProxy signs in": {
    status: 200,
    call: () => ({ method: "POST", path: "/auth/sign-in/email", headers: json, body: user }),
    after: (state, body) => void (state.token = body.token),
  },
  NotesPost: {
    status: 201,
    call: (state) => ({
      method: "POST",
      path: "/notes",
      headers: { ...json, ...bearer(state), "Idempotency-Key": crypto.randomUUID() },
      body: { title: "Milk", labelId: "todo" },
    }),
    after: (state, body) => void (state.noteId = body.id),
  },
  NotesGet: { status: 200, call: (state) => ({ path: "/notes", headers: bearer(state) }) },
  NotesByNoteIdGet: {
    status: 200,
    call: (state) => ({ headers: bearer(state), pathParameters: { noteId: state.noteId } }),
  },
  NotesByNoteIdPatch: {
    status: 200,
    call: (state) => ({
      method: "PATCH",
      headers: { ...json, ...bearer(state) },
      pathParameters: { noteId: state.noteId },
      body: { title: "Bread", labelId: "done" },
    }),
  },
  AdminReindex: {
    status: 200,
    call: () => ({ method: "POST", headers: { Authorization: "Bearer admin" } }),
  },
  HooksCodeHost: {
    status: 202,
    call: () => ({
      method: "POST",
      headers: {
        ...json,
        "X-GitHub-Delivery": `d${++delivery}`,
        "X-Hub-Signature-256": `sha256=${sign('{"a":1}', "code")}`,
      },
      body: '{"a":1}',
    }),
  },
  HooksPayments: {
    status: 202,
    call: () => {
      const body = JSON.stringify({ id: `e${++delivery}`, type: "paid" });
      const at = Math.floor(Date.now() / 1000);
      const signature = `t=${at},v1=${sign(`${at}.${body}`, "pay")}`;
      return { method: "POST", headers: { ...json, "Stripe-Signature": signature }, body };
    },
  },
  JobsRelay: { status: 200, call: () => ({}) },
  Authorize: { status: 200, call: (state) => ({ path: "/welcome", headers: bearer(state) }) },
  NotesByNoteIdDelete: {
    status: 204,
    call: (state) => ({
      method: "DELETE",
      headers: bearer(state),
      pathParameters: { noteId: state.noteId },
    }),
  },
  "AuthByProxy signs out": {
    status: 200,
    call: (state) => ({
      method: "POST",
      path: "/auth/sign-out",
      headers: { ...json, ...bearer(state) },
      body: {},
    }),
  },
};

function getFunctionName(scenario: string): string {
  return scenario.split(" ")[0];
}

Deno.test("each function of the example runs under its generated role, which may do nothing else", async (test) => {
  setLogOutput(() => {});
  const server = await startPostgres();
  const url = await server.createDatabase("notes");
  const admin = postgres(url, { max: 1, onnotice: () => {} });
  const permissionsFolder = await Deno.makeTempDir();
  const database = { provider: "serverless-pg", connectionString: url, maxConnections: 1 } as const;
  const environment = {
    DATABASE_PROVIDER: database.provider,
    DATABASE_URL: url,
    AUTH_SECRET: "at-least-32-random-characters-0123456789",
    AUTH_BASE_URL: "http://localhost:8787/auth",
    API_BEARER_TOKEN: "admin",
    CODE_HOST_WEBHOOK_SECRET: "code",
    PAYMENTS_WEBHOOK_SECRET: "pay",
    MAIL_FOLDER: join(permissionsFolder, "mail"),
    AWS_ACCOUNT_ID: "123456789012",
    RESOURCE_PREFIX: "notes-dev",
  };
  try {
    await withEnv(environment, async () => {
      await runMigrations({ migrationsFolder: join(EXAMPLE, "migrations"), database });
      const files = findFunctionFiles(join(EXAMPLE, "src/functions"));
      const analysis = await analysePermissions({ root: EXAMPLE, functions: files });
      const { files: sql, roles } = renderPermissionFiles(analysis.functions, {
        dir: ".",
        terraformFile: "roles.tf",
        rolePrefix: "fn_",
      });
      for (const [path, text] of sql) await Deno.writeTextFile(join(permissionsFolder, path), text);

      await test.step("analysePermissions() finds nothing to complain about", () => {
        assertEquals(analysis.unresolved, []);
        assertEquals(analysis.warnings, []);
      });
      await test.step("applyPermissions() takes the files, and a second time changes nothing", async () => {
        const first = await applyPermissions({ permissionsFolder, database });
        assertEquals(first.errors, []);
        const again = await applyPermissions({ permissionsFolder, database });
        assertEquals([again.applied, again.errors], [0, []]);
      });
      const tables = (await admin`select tablename from pg_tables where schemaname = 'public'`).map(
        (row) => row.tablename as string,
      );
      await test.step("a role has the privileges of its file on the tables of the database, and no other", async () => {
        for (const fn of analysis.functions.filter(({ usesDatabase }) => usesDatabase)) {
          const expected = fn.tables.flatMap(({ table, operations, columns = [] }) =>
            operations.filter((operation) => !columns.some((each) => each.operation === operation))
              .map((operation) => `${table.name} ${operation}`)
          );
          const held: string[] = [];
          for (const table of tables) {
            for (const operation of [...OPERATIONS, "TRUNCATE", "REFERENCES", "TRIGGER"]) {
              const [row] = await admin`select has_table_privilege(${roles.get(
                fn.name,
              )!}, ${`"${table}"`}, ${operation}) as held`;
              if (row.held) held.push(`${table} ${operation}`);
            }
          }
          assertEquals(held.sort(), expected.sort(), fn.name);
        }
      });

      await test.step("a role has the privileges of its file on columns, and no other", async () => {
        const columns = await admin`select table_name, column_name from information_schema.columns
          where table_schema = 'public'`;
        for (const fn of analysis.functions.filter(({ usesDatabase }) => usesDatabase)) {
          const expected: string[] = [];
          const held: string[] = [];
          for (const { table_name: table, column_name: column } of columns) {
            const grant = fn.tables.find((each) => each.table.name === table);
            for (const operation of ["SELECT", "INSERT", "UPDATE", "REFERENCES"]) {
              const limit = grant?.columns?.find((each) => each.operation === operation);
              const isGranted = limit === undefined
                ? grant?.operations.some((each) => each === operation) === true
                : limit.columns.includes(column);
              if (isGranted) expected.push(`${table}.${column} ${operation}`);
              const [row] = await admin`select has_column_privilege(${roles.get(
                fn.name,
              )!}, ${`"${table}"`}, ${column}, ${operation}) as held`;
              if (row.held) held.push(`${table}.${column} ${operation}`);
            }
          }
          assertEquals(held, expected, fn.name);
        }
      });
      await test.step("a function that checks sessions cannot read where they come from, nor hand them to others", async () => {
        const own = postgres(url, { max: 1, username: roles.get("NotesGet"), onnotice: () => {} });
        try {
          for (
            const statement of [
              "select * from sessions",
              "select ip_address from sessions",
              "select user_agent from sessions",
              "update sessions set user_id = gen_random_uuid()",
              "update sessions set token = 'x'",
              "delete from sessions",
              "insert into sessions (token) values ('x')",
              "select * from users",
              "select created_at from users",
              "update users set email = 'x'",
            ]
          ) {
            assertEquals(
              await own.unsafe(statement).then(() => "allowed", (error) => error.code),
              "42501",
              statement,
            );
          }
        } finally {
          await own.end();
        }
      });

      const handlers = new Map<string, Handler>();
      for (const { name, file } of files) handlers.set(name, (await import(file)).handler);
      const { getDb } = await import(join(EXAMPLE, "src/database.ts"));
      const state: State = { token: "", noteId: "" };

      async function callFunction(name: string, call: Call): Promise<ProxyResult> {
        if (name === "JobsRelay") {
          const relay = handlers.get(name) as unknown as RelayHandler;
          await relay(createScheduleEvent(), createLambdaContext());
          const left = await admin`select last_error from trellis_jobs where state <> 'done'`;
          return { statusCode: left.length === 0 ? 200 : 500, body: JSON.stringify(left) };
        }
        if (name !== "Authorize") {
          return await handlers.get(name)!(createRestApiEvent(call), createLambdaContext());
        }
        // an authorizer answers a gateway: what it knows, or a failure
        const authorize = handlers.get(name) as unknown as AuthorizerHandler;
        const asked = authorize(createRequestAuthorizerEvent(call), createLambdaContext());
        return await asked.then(
          ({ context }) => ({
            statusCode: context?.userStatus === "Authenticated" ? 200 : 401,
            body: "",
          }),
          () => ({ statusCode: 500, body: "" }),
        );
      }

      async function answer(scenario: string): Promise<ProxyResult> {
        const name = getFunctionName(scenario);
        // the session is due to be extended, which is a part of checking it
        await admin`update sessions set created_at = now() - interval '29 days', expires_at = now() + interval '1 day'`;
        const db = await getDb();
        await db.execute(`set role ${roles.get(name)}`);
        try {
          return await callFunction(name, SCENARIOS[scenario].call(state));
        } finally {
          await db.execute("reset role");
        }
      }

      const called = new Set(Object.keys(SCENARIOS).map(getFunctionName));
      assertEquals([...called].sort(), [...roles.keys()].sort());
      for (const [name, { status, after }] of Object.entries(SCENARIOS)) {
        const fn = analysis.functions.find((each) => each.name === getFunctionName(name))!;
        // without a note there is nothing to delete
        const isLast = name === "NotesByNoteIdDelete";
        if (isLast) await withoutEach(fn);
        await test.step(`${name} can do all that it needs`, async () => {
          const result = await answer(name);
          assertEquals(result.statusCode, status, result.body);
          after?.(state, result.body === "" ? {} : JSON.parse(result.body));
        });
        if (!isLast) await withoutEach(fn);
      }

      /** The auth routes and the relay have the grants of everything they may do, of which each call uses a part. */
      async function withoutEach(fn: FunctionPermissions): Promise<void> {
        if (/^Auth[A-Z]/.test(fn.name) || fn.name === "JobsRelay") return;
        const role = roles.get(fn.name)!;
        for (const { table, operations, columns = [] } of fn.tables) {
          // records are updated and removed only in some calls
          if (table.name === "idempotency_records") continue;
          for (const { operation, columns: names } of columns) {
            for (const name of names) {
              await test.step(`${fn.name} fails without ${operation} of ${table.name}.${name}`, async () => {
                await admin.unsafe(
                  `revoke ${operation} ("${name}") on "${table.name}" from ${role}`,
                );
                try {
                  assertEquals((await answer(fn.name)).statusCode, 500);
                } finally {
                  await admin.unsafe(
                    `grant ${operation} ("${name}") on "${table.name}" to ${role}`,
                  );
                }
              });
            }
          }
          for (
            const operation of operations.filter((each) =>
              !columns.some((limit) => limit.operation === each)
            )
          ) {
            await test.step(`${fn.name} fails without ${operation} on ${table.name}`, async () => {
              await admin.unsafe(`revoke ${operation} on "${table.name}" from ${role}`);
              try {
                assertEquals((await answer(fn.name)).statusCode, 500);
              } finally {
                await admin.unsafe(`grant ${operation} on "${table.name}" to ${role}`);
              }
            });
          }
        }
      }

      await test.step("a role may log in, and is refused a table that it has no grant for", async () => {
        const own = postgres(url, {
          max: 1,
          username: roles.get("HooksCodeHost"),
          onnotice: () => {},
        });
        try {
          assertEquals((await own`select count(*)::int as n from deliveries`)[0].n > 0, true);
          const code = await own`select 1 from notes`.then(() => "allowed", (error) => error.code);
          assertEquals(code, "42501");
        } finally {
          await own.end();
        }
      });
      await closeDrizzleClient();
    });
  } finally {
    await closeDrizzleClient().catch(() => {});
    await admin.end();
    await server.stop();
    await Deno.remove(permissionsFolder, { recursive: true });
  }
});
