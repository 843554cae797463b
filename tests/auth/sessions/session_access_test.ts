import { assert, assertEquals } from "@std/assert";
import { type AuthMethod, createAuth, defineAuth } from "../../../auth/mod.ts";
import type { SessionNeeds } from "../../../core/http/session.ts";
import { buildValidatedResponse } from "../../../core/mod.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import { createLambdaContext, createRestApiEvent } from "../../../testing/mod.ts";
import { defineApiHandler } from "../../../validation/mod.ts";
import { ACCOUNTS_CONFIG, getPluginApi, type SignedIn, signUp } from "../accounts_app.ts";
import { openAccountsDatabase } from "../accounts_database.ts";

const { pglite, db, queries } = await openAccountsDatabase();
globalThis.addEventListener("unload", () => void pglite.close());

interface Answer {
  status: number;
  code?: string;
  message?: string;
  organization?: Record<string, unknown> | null;
  userId?: string | null;
  log: string;
}

/** Sends a request to a handler with auth session() and these options. */
async function call(
  access: SessionNeeds,
  headers: Record<string, string>,
  method = "GET",
): Promise<Answer> {
  const lines: string[] = [];
  setLogOutput((line) => void lines.push(line));
  const { session } = defineAuth(() => Promise.resolve(db), ACCOUNTS_CONFIG);
  const auth = session(access) as AuthMethod;
  const handler = defineApiHandler({ auth, metrics: false })(
    function getMe(params) {
      const { organization = null } = params as { organization?: Record<string, unknown> };
      const { context, userId = null } = params as typeof params & { userId?: string };
      return buildValidatedResponse(context, 200, { userId, organization });
    },
  );
  const { statusCode, body } = await handler(
    createRestApiEvent({ method, headers }),
    createLambdaContext(),
  );
  setLogOutput(() => {});
  return { status: statusCode, ...JSON.parse(body), log: lines.join("\n") };
}

const bearer = ({ token }: SignedIn) => ({ authorization: `Bearer ${token}` });

async function start(): Promise<{ ada: SignedIn; bob: SignedIn; labId: string }> {
  await pglite.exec("TRUNCATE people, visits, accounts, verification, members, organizations");
  const ada = await signUp(db, "ada@example.com");
  const bob = await signUp(db, "bob@example.com");
  const api = getPluginApi(createAuth(db, ACCOUNTS_CONFIG));
  const body = { name: "Lab", slug: "lab" };
  const { id } = await api.createOrganization({ body, headers: ada.headers });
  queries.length = 0;
  return { ada, bob, labId: id as string };
}

Deno.test("roles admits users with one of the roles, which better-auth stores separated by commas", async () => {
  const { ada } = await start();
  const outcomes: [stored: string | null, roles: string[], status: number][] = [
    ["user", ["admin"], 403],
    ["admin", ["admin"], 200],
    ["user,admin", ["admin"], 200],
    ["user,administrator", ["admin"], 403],
    ["editor", ["admin", "editor"], 200],
    ["", ["admin"], 403],
    [null, ["user"], 403],
  ];
  for (const [stored, roles, status] of outcomes) {
    await pglite.query("UPDATE people SET role = $1 WHERE id = $2", [stored, ada.id]);
    const answer = await call({ roles }, bearer(ada));
    assertEquals([stored, roles, answer.status], [stored, roles, status]);
    if (status === 403) assertEquals(answer.code, "FORBIDDEN");
  }
});

Deno.test("organization reads the active organization and the role in the query of the session", async () => {
  const { ada, bob, labId } = await start();
  const answer = await call({ organization: {} }, bearer(ada));
  assertEquals(queries.length, 1);
  assertEquals(answer.status, 200);
  const { memberId, ...organization } = answer.organization!;
  assertEquals(organization, { id: labId, name: "Lab", slug: "lab", role: "owner" });
  assertEquals(typeof memberId, "string");
  assertEquals((await call({ organization: {} }, bearer(bob))).status, 403);
});

Deno.test("organization requires one of the roles, and a membership that still exists", async () => {
  const { ada, bob, labId } = await start();
  await pglite.query(
    "INSERT INTO members (id, organization_id, user_id, role, created_at) VALUES (gen_random_uuid(), $1, $2, 'member,editor', now())",
    [labId, bob.id],
  );
  await pglite.query("UPDATE visits SET active_organization_id = $1", [labId]);
  assertEquals((await call({ organization: { role: "owner" } }, bearer(ada))).status, 200);
  assertEquals((await call({ organization: { role: "owner" } }, bearer(bob))).status, 403);
  const either = { role: ["owner", "editor"] };
  assertEquals((await call({ organization: either }, bearer(bob))).status, 200);
  await pglite.query("DELETE FROM members WHERE user_id = $1", [bob.id]);
  assertEquals((await call({ organization: {} }, bearer(bob))).status, 403);
  await pglite.exec("DELETE FROM organizations");
  assertEquals((await call({ organization: {} }, bearer(ada))).status, 403);
});

Deno.test("freshWithinSeconds refuses an older sign-in with a code of its own", async () => {
  const { ada } = await start();
  assertEquals((await call({ freshWithinSeconds: 300 }, bearer(ada))).status, 200);
  await pglite.exec("UPDATE visits SET created_at = now() - interval '300 seconds'");
  const answer = await call({ freshWithinSeconds: 300 }, bearer(ada));
  assertEquals([answer.status, answer.code], [403, "SESSION_NOT_FRESH"]);
  assertEquals((await call({ freshWithinSeconds: 310 }, bearer(ada))).status, 200);
});

Deno.test("freshWithinSeconds refuses the session of an administrator who impersonates a user", async () => {
  const { ada, bob } = await start();
  await pglite.query("UPDATE people SET role = 'admin' WHERE id = $1", [ada.id]);
  const { session } = await getPluginApi(createAuth(db, ACCOUNTS_CONFIG)).impersonateUser({
    body: { userId: bob.id },
    headers: ada.headers,
  }) as unknown as { session: { token: string } };
  const headers = { authorization: `Bearer ${session.token}` };
  assertEquals((await call({}, headers)).userId, bob.id);
  const answer = await call({ freshWithinSeconds: 300 }, headers);
  assertEquals([answer.status, answer.code], [403, "SESSION_NOT_FRESH"]);
});

Deno.test("authorize decides with the session, and its reason reaches the log and not the client", async () => {
  const { ada } = await start();
  const seen: unknown[] = [];
  const allowed = await call({
    organization: {},
    authorize: ({ session, organization }) => {
      seen.push([session.user.email, organization?.role]);
      return Promise.resolve(true);
    },
  }, bearer(ada));
  assertEquals([allowed.status, seen], [200, [["ada@example.com", "owner"]]]);
  const refused = await call({ authorize: () => "the plan has ended" }, bearer(ada));
  assertEquals([refused.status, refused.code, refused.message], [403, "FORBIDDEN", "Forbidden"]);
  assert(refused.log.includes("the plan has ended"), refused.log);
  assert(!JSON.stringify({ ...refused, log: "" }).includes("plan"));
  for (const value of [false, undefined, 1, ""]) {
    const answer = await call({ authorize: () => value as boolean }, bearer(ada));
    assertEquals(answer.status, 403);
  }
});

Deno.test("authorize is not asked about a caller without a session", async () => {
  await start();
  let asked = 0;
  const authorize = () => (asked++, true);
  assertEquals((await call({ authorize }, {})).status, 401);
  assertEquals((await call({ authorize }, { authorization: "Bearer unknown" })).status, 401);
  assertEquals(asked, 0);
});

Deno.test("optional admits callers without a session, and refuses an invalid bearer token", async () => {
  const { ada } = await start();
  const optional = { optional: true };
  assertEquals(await pick(call(optional, {})), [200, null]);
  assertEquals(queries.length, 0);
  assertEquals(await pick(call(optional, bearer(ada))), [200, ada.id]);
  assertEquals(await pick(call(optional, { cookie: ada.cookie })), [200, ada.id]);
  assertEquals(await pick(call(optional, { cookie: "theme=dark" }, "POST")), [200, null]);
  assertEquals(await pick(call(optional, { cookie: ada.cookie.slice(0, -6) })), [200, null]);
  assertEquals((await call(optional, { cookie: ada.cookie }, "POST")).status, 403);
  assertEquals((await call(optional, { authorization: "Bearer unknown" })).status, 401);
  assertEquals((await call(optional, { authorization: "Basic YTpi" })).status, 401);
  await pglite.exec("UPDATE visits SET expires_at = now()");
  assertEquals((await call(optional, bearer(ada))).status, 401);
  assertEquals(await pick(call(optional, { cookie: ada.cookie })), [200, null]);
});

async function pick(answer: Promise<Answer>): Promise<[number, string | null | undefined]> {
  const { status, userId } = await answer;
  return [status, userId];
}

Deno.test("a handler with auth session refuses a banned user until the ban ends", async () => {
  const { ada } = await start();
  const ban = (set: string) => pglite.query(`UPDATE people SET ${set} WHERE id = $1`, [ada.id]);
  assertEquals((await call({}, bearer(ada))).status, 200);
  await ban("banned = true");
  assertEquals((await call({}, bearer(ada))).status, 401);
  await ban("ban_expires = now() + interval '1 hour'");
  assertEquals((await call({}, bearer(ada))).status, 401);
  await ban("ban_expires = now() - interval '1 second'");
  assertEquals((await call({}, bearer(ada))).status, 200);
});

Deno.test("a handler whose options the tables do not allow is a configuration error", async () => {
  const { ada } = await start();
  const cases: [SessionNeeds, string][] = [
    [{ roles: ["admin"] }, "no column user.role"],
    [{ organization: {} }, "AuthConfig.schema.session lacks activeOrganizationId"],
  ];
  for (const [access, expected] of cases) {
    const lines: string[] = [];
    setLogOutput((line) => void lines.push(line));
    const { session } = defineAuth(() => Promise.resolve(db), {
      secret: ACCOUNTS_CONFIG.secret,
      baseURL: ACCOUNTS_CONFIG.baseURL,
    });
    const handler = defineApiHandler({ auth: session(access) as AuthMethod })(() => ({
      statusCode: 200,
      body: "",
    }));
    const event = createRestApiEvent({ headers: bearer(ada) });
    assertEquals((await handler(event, createLambdaContext())).statusCode, 500);
    assert(lines.join().includes(expected), lines.join());
    setLogOutput(() => {});
  }
});

Deno.test("a request is not extended when better-auth's options or the dont_remember cookie forbid it", async () => {
  const { signCookie } = await import("../accounts_app.ts");
  const { ada } = await start();
  const due = () =>
    pglite.exec(
      "UPDATE visits SET updated_at = now() - interval '2 days', created_at = now() - interval '2 days', " +
        "expires_at = now() + interval '28 days'",
    );
  const count = async (
    session: object,
    headers: Record<string, string>,
  ): Promise<number> => {
    await due();
    const auth = defineAuth(() => Promise.resolve(db), { ...ACCOUNTS_CONFIG, session }).session();
    const handler = defineApiHandler({ auth })(() => ({ statusCode: 200, body: "" }));
    queries.length = 0;
    const { statusCode } = await handler(createRestApiEvent({ headers }), createLambdaContext());
    assertEquals(statusCode, 200);
    return queries.length;
  };
  assertEquals(await count({}, bearer(ada)), 2);
  assertEquals(await count({}, { cookie: ada.cookie }), 2);
  assertEquals(await count({ disableSessionRefresh: true }, bearer(ada)), 1);
  assertEquals(await count({ deferSessionRefresh: true }, bearer(ada)), 1);
  const mark = `__Secure-better-auth.dont_remember=${signCookie("true")}`;
  assertEquals(await count({}, { cookie: `${ada.cookie}; ${mark}` }), 1);
  const forged = `__Secure-better-auth.dont_remember=${signCookie("x").replace("x.", "true.")}`;
  assertEquals(await count({}, { cookie: `${ada.cookie}; ${forged}` }), 2);
});
