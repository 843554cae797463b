import { assertEquals } from "@std/assert";
import { emailOTP } from "better-auth/plugins/email-otp";
import { createAuth, createAuthHandler } from "../../../auth/mod.ts";
import { createHttpApiEvent, createLambdaContext } from "../../../testing/mod.ts";
import { captureLogs } from "../../support/capture_logs.ts";
import { openAuthDatabase, SECRET } from "../auth_database.ts";

const { db, pglite, reset } = await openAuthDatabase();
Deno.test.beforeEach(reset);
Deno.test.afterAll(() => pglite.close());

const BASE = "http://localhost:3000";
const ADA = "ada@example.com", NEW = "new@example.com";
const PASSWORD = "correct horse battery";
const sent = { link: "", code: "" };
const auth = createAuth(db, {
  secret: SECRET,
  baseURL: BASE,
  useSecureCookies: false,
  emailVerification: {
    sendVerificationEmail: ({ url }) => Promise.resolve(void (sent.link = url)),
  },
  user: { changeEmail: { enabled: true } },
  plugins: [emailOTP({
    sendVerificationOTP: ({ otp }) => Promise.resolve(void (sent.code = otp)),
    changeEmail: { enabled: true },
  })],
});
const handler = createAuthHandler(() => auth);

async function signUp(email: string): Promise<string> {
  const { token } = await auth.api.signUpEmail({ body: { name: "x", email, password: PASSWORD } });
  return token!;
}

async function ask(method: string, url: string, token = "", body?: unknown) {
  const { pathname, searchParams } = new URL(url, BASE);
  const event = createHttpApiEvent({
    method,
    path: pathname,
    query: Object.fromEntries(searchParams),
    headers: token === "" ? {} : { authorization: `Bearer ${token}` },
    body,
  });
  const { result, lines } = await captureLogs(() => handler(event, createLambdaContext()));
  return { ...result, errors: lines.filter(({ level }) => level === "ERROR") };
}

/** Asks for a change of address that another account takes before it is confirmed. */
async function getLinkToTaken(callbackURL: string): Promise<URL> {
  const token = await signUp(ADA);
  const body = { newEmail: NEW, callbackURL };
  assertEquals((await ask("POST", "/api/auth/change-email", token, body)).statusCode, 200);
  await signUp(NEW);
  return new URL(sent.link);
}

async function readAddresses(): Promise<string[]> {
  const { rows } = await pglite.query<{ email: string }>("select email from users order by email");
  return rows.map(({ email }) => email);
}

Deno.test("createAuthHandler() redirects with an error when a confirmed address was taken", async () => {
  const link = await getLinkToTaken("/settings?tab=mail#address");
  const { statusCode, headers, errors } = await ask("GET", link.href);
  const location = "/settings?tab=mail&error=USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL#address";
  assertEquals([statusCode, headers?.location, errors], [302, location, []]);
  assertEquals(await readAddresses(), [ADA, NEW]);
});

Deno.test("createAuthHandler() answers 422 when a confirmed address was taken and the link names no page", async () => {
  const link = await getLinkToTaken("/");
  link.searchParams.delete("callbackURL");
  const { statusCode, body, errors } = await ask("GET", link.href);
  const { code } = JSON.parse(body);
  assertEquals([statusCode, code, errors], [422, "USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL", []]);
  assertEquals(await readAddresses(), [ADA, NEW]);
});

Deno.test("createAuthHandler() does not redirect to a page that is not trusted when an address was taken", async () => {
  const link = await getLinkToTaken("/");
  link.searchParams.set("callbackURL", "https://evil.example");
  assertEquals((await ask("GET", link.href)).statusCode, 403);
});

Deno.test("createAuthHandler() answers 4xx when an address was taken before its code was entered", async () => {
  const token = await signUp(ADA);
  const path = "/api/auth/email-otp";
  await ask("POST", `${path}/request-email-change`, token, { newEmail: NEW });
  await signUp(NEW);
  const body = { newEmail: NEW, otp: sent.code };
  const { statusCode, errors } = await ask("POST", `${path}/change-email`, token, body);
  assertEquals([Math.floor(statusCode / 100), errors], [4, []]);
  assertEquals(await readAddresses(), [ADA, NEW]);
});
