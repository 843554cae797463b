import { assert, assertEquals } from "@std/assert";
import { magicLink } from "better-auth/plugins/magic-link";
import type { AuthConfig } from "../../../auth/config/config.ts";
import { createAuthHandler } from "../../../auth/routes/auth_handler.ts";
import { createAuth } from "../../../auth/accounts/instance.ts";
import { createHttpApiEvent, createLambdaContext } from "../../../testing/mod.ts";
import { openAuthDatabase, SECRET } from "../auth_database.ts";
import { FAST_PASSWORDS } from "../fast_passwords.ts";
import { testSeed } from "../../support/seed.ts";
import { createRandom } from "../../support/random.ts";
import { acmeProvider } from "../acme_provider.ts";

const BASE = "https://api.example.com";
const ORIGINS = [BASE, "https://app.example.com"];
const PASSWORD = "correct horse battery";
const links: string[] = [];
const { db, reset, pglite } = await openAuthDatabase();

Deno.test.afterAll(() => pglite.close());

const CONFIG: AuthConfig = {
  secret: SECRET,
  baseURL: BASE,
  trustedOrigins: ["https://app.example.com", "notes://"],
  rateLimit: { enabled: false },
  emailAndPassword: {
    enabled: true,
    password: FAST_PASSWORDS,
    sendResetPassword: ({ url }) => Promise.resolve(void links.push(url)),
  },
  emailVerification: { sendVerificationEmail: ({ url }) => Promise.resolve(void links.push(url)) },
  user: { deleteUser: { enabled: true } },
  plugins: [magicLink({ sendMagicLink: ({ url }) => void links.push(url) })],
  socialProviders: {
    github: { clientId: "c", clientSecret: "s" },
    custom: acmeProvider(() => ({
      id: "1",
      email: "ada@acme.example",
      emailVerified: true,
      name: "A",
    })),
  },
};
const auth = createAuth(db, CONFIG);
const handler = createAuthHandler(() => auth, { logging: { level: "SILENT" } });

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly location: string | undefined;
  readonly cookie: string;
}

async function send(path: string, body?: unknown, cookie = ""): Promise<Answer> {
  const url = new URL(`${BASE}/api/auth${path}`);
  const result = await handler(
    createHttpApiEvent({
      method: body === undefined ? "GET" : "POST",
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: { origin: BASE, cookie },
      body,
    }),
    createLambdaContext(),
  );
  return {
    status: result.statusCode,
    text: result.body,
    location: result.headers?.location as string | undefined,
    cookie: (result.cookies ?? []).map((line) => line.split(";")[0]).join("; "),
  };
}

/** Checks that a browser that follows the answer stays on trusted sites. */
function assertStays(target: string, { location, text }: Answer): void {
  const json = text.startsWith("{") ? JSON.parse(text) : {};
  for (const address of [location, json.redirect ? json.url : undefined]) {
    if (address === undefined || address.startsWith("notes://")) continue;
    const { origin, pathname } = new URL(address, `${BASE}/api/auth/x`);
    const isOwn = ORIGINS.includes(origin) && !pathname.startsWith("//");
    assert(isOwn, `${JSON.stringify(target)}: ${address}`);
  }
}

const encode = encodeURIComponent;

/** Requests whose response or whose mailed link redirects to a page of the request. */
const ROUTES: Readonly<Record<string, (target: string) => Promise<Answer>>> = {
  verify: (target) => send(`/verify-email?token=x&callbackURL=${encode(target)}`),
  reset: (target) => send(`/reset-password/x?callbackURL=${encode(target)}`),
  magic: (target) => send(`/magic-link/verify?token=x&callbackURL=${encode(target)}`),
  magicError: (target) => send(`/magic-link/verify?token=x&errorCallbackURL=${encode(target)}`),
  magicNew: (target) => send(`/magic-link/verify?token=x&newUserCallbackURL=${encode(target)}`),
  requestReset: (target) =>
    follow("/request-password-reset", { email: "ada@example.com", redirectTo: target }),
  requestMagic: (target) =>
    follow("/sign-in/magic-link", { email: "eve@example.com", callbackURL: target }),
  signIn: (target) =>
    send("/sign-in/email", { email: "ada@example.com", password: PASSWORD, callbackURL: target }),
  provider: (target) => callback({ callbackURL: target }),
  providerError: (target) => callback({ callbackURL: "/", errorCallbackURL: target }, "error=x"),
  providerNew: (target) => callback({ callbackURL: "/", newUserCallbackURL: target }),
};

/** Requests a mail and opens its link. */
async function follow(path: string, body: unknown): Promise<Answer> {
  links.length = 0;
  const answer = await send(path, body);
  return links.length === 0 ? answer : await send(links[0].slice(`${BASE}/api/auth`.length));
}

/** Signs in with a provider that sends the browser back. */
async function callback(body: object, result = "code=1"): Promise<Answer> {
  const started = await send("/sign-in/social", { provider: "acme", ...body });
  if (started.status !== 200) return started;
  const { url, redirect } = JSON.parse(started.text);
  assertEquals([new URL(url).origin, redirect], ["https://acme.example", true]);
  const state = new URL(url).searchParams.get("state");
  const answer = await send(`/callback/acme?${result}&state=${state}`, undefined, started.cookie);
  await pglite.exec(
    "delete from users where email = 'ada@acme.example'; delete from accounts where provider_id = 'acme'",
  );
  return answer;
}

async function signUp(): Promise<void> {
  await reset();
  const body = { name: "Ada", email: "ada@example.com", password: PASSWORD };
  assertEquals((await send("/sign-up/email", body)).status, 200);
}

const HOSTILE = [
  "/.//evil.example/x",
  "/..//evil.example/x",
  "/a/..//evil.example/x",
  "/a/../..//evil.example",
  "/%2e//evil.example/x",
  "/%2E%2e//evil.example/x",
  "/.%2e//evil.example/x",
  "/./\\evil.example",
  "/\t/evil.example",
  "/.\t//evil.example",
  "/.\n//evil.example",
  "//evil.example",
  "https:evil.example",
  "http:/evil.example",
  "https:/\\evil.example",
  "https://app.example.com@evil.example",
  "https://app.example.com//evil.example",
];

for (const [name, request] of Object.entries(ROUTES)) {
  Deno.test(`createAuthHandler() redirects to no other site: ${name}`, async () => {
    await signUp();
    for (const target of HOSTILE) {
      const answer = await request(target);
      assertEquals([target, answer.status], [target, 403]);
      assertStays(target, answer);
    }
  });
}

Deno.test("createAuthHandler() redirects to pages of the application", async () => {
  await signUp();
  const pages = [
    "/welcome",
    "/welcome?next=%2Fnotes&x=https://other.example#top",
    "https://app.example.com/welcome",
    "https://app.example.com",
    "notes://welcome",
  ];
  for (const page of pages) {
    for (const [name, request] of Object.entries(ROUTES)) {
      const { status, location, text } = await request(page);
      assert(status === 302 || status === 200, `${name} ${page}: ${status} ${text}`);
      const { origin, pathname } = new URL(page, BASE);
      const given = new URL(location ?? JSON.parse(text).url, BASE);
      // without a page for errors, better-auth shows its own
      if (name === "magicNew") continue;
      assertEquals([name, given.origin, given.pathname], [name, origin, pathname]);
    }
  }
});

Deno.test("createAuthHandler() refuses a relative redirect to another host, whatever route sent it", async () => {
  const plugin = {
    id: "own",
    onRequest: (request: Request) =>
      Promise.resolve({
        response: new Response(null, {
          status: 302,
          headers: { location: new URL(request.url).searchParams.get("to")! },
        }),
      }),
  };
  const own = createAuth(db, { ...CONFIG, plugins: [plugin] });
  const serve = createAuthHandler(() => own, { logging: { level: "SILENT" } });
  const cases = [
    ["//evil.example/x", 403],
    ["/\\evil.example/x", 403],
    ["/.//evil.example/x", 403],
    ["/\t/evil.example", 403],
    ["https:evil.example", 403],
    ["/home", 302],
    // the application's own plugin may send browsers to any address
    ["https://payments.example/checkout", 302],
  ] as const;
  for (const [to, status] of cases) {
    const event = createHttpApiEvent({ path: "/api/auth/ok", query: { to } });
    const { statusCode, headers } = await serve(event, createLambdaContext());
    assertEquals([to, statusCode], [to, status]);
    if (status === 403) assertEquals(headers?.location, undefined);
  }
});

Deno.test("createAuthHandler() redirects to trusted sites only, for generated addresses", async () => {
  await signUp();
  const random = createRandom(testSeed);
  const count = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 20_000 : 400;
  const parts = [
    ..."//..\\:?#@ \t\n\r%",
    ...["%2e", "%2E", "%2f", "%5c", "%09", "%00", "%252e", "http:", "https:", "javascript:"],
    ...["evil.example", "app.example.com", "api.example.com", "a", "https://", "\u2025", "\uff0f"],
  ];
  const names = ["verify", "reset", "magic", "magicError", "magicNew"];
  for (let run = 0; run < count; run++) {
    const length = 1 + random.below(8);
    const start = random.pick(["/", "/", "", "https://app.example.com", BASE]);
    const target = start + Array.from({ length }, () => random.pick(parts)).join("");
    const answer = await ROUTES[random.pick(names)](target);
    assert([302, 400, 403].includes(answer.status), `${testSeed} ${JSON.stringify(target)}`);
    assertStays(`${testSeed} ${target}`, answer);
  }
});
