import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { SignJWT } from "jose";
import * as z from "zod";
import { defineAuth } from "../../../auth/mod.ts";
import {
  createGatewayJwtAuth,
  createJwtAuth,
  JWT_ALGORITHMS,
  type JwtAuthOptions,
} from "../../../auth/jwt/mod.ts";
import { buildValidatedResponse } from "../../../core/mod.ts";
import { ConfigurationError, isAppError } from "../../../errors/mod.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import {
  createHttpApiEvent,
  createLambdaContext,
  createRestApiEvent,
} from "../../../testing/mod.ts";
import { defineApiHandler } from "../../../validation/mod.ts";
import { withSteppedClock } from "../../support/step_clock.ts";
import { atTime } from "../auth_database.ts";
import { startIssuer } from "../jwt_issuer.ts";

setLogOutput(() => {});
const AUDIENCE = "https://api.example.com";

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;

/** Starts an issuer with one key, and a check of its tokens. */
async function start(options: Partial<JwtAuthOptions> = {}) {
  const server = startIssuer();
  await server.addKey("ES256", "k1");
  const { authenticate } = createJwtAuth({
    issuer: server.issuer,
    audience: AUDIENCE,
    ...options,
  });
  const claims = { iss: server.issuer, aud: AUDIENCE, sub: "u1", exp: inSeconds(60) };
  const check = async (token: string) => {
    const event = createRestApiEvent({ headers: { authorization: `Bearer ${token}` } });
    try {
      return (await authenticate(event)).userId;
    } catch (error) {
      if (isAppError(error)) return error.statusCode;
      throw error;
    }
  };
  return { ...server, server, claims, check };
}

Deno.test("createJwtAuth() accepts tokens of the issuer and loads its keys once", async () => {
  const { server, claims, check } = await start();
  assertEquals(server.requests, []);
  const token = await server.sign("k1", claims);
  assertEquals(await Promise.all([check(token), check(token), check(token)]), ["u1", "u1", "u1"]);
  assertEquals(await check(await server.sign("k1", { ...claims, aud: ["x", AUDIENCE] })), "u1");
  assertEquals(server.requests, ["/.well-known/openid-configuration", "/keys"]);
  await server.close();
});

Deno.test("createJwtAuth() refuses tokens with other claims", async () => {
  const { server, claims, check } = await start({ requiredClaims: ["scope"], typ: "at+jwt" });
  const good = { ...claims, scope: "read" };
  const header = { typ: "at+jwt" };
  assertEquals(await check(await server.sign("k1", good, header)), "u1");
  const { exp: _, ...endless } = good;
  const { sub: __, ...anonymous } = good;
  const cases: [object, object?][] = [
    [{ ...good, iss: `${server.issuer}/` }],
    [{ ...good, iss: "https://evil.example" }],
    [{ ...good, aud: "https://other.example" }],
    [{ ...good, aud: [] }],
    [{ ...good, exp: inSeconds(-1) }],
    [endless],
    [{ ...good, nbf: inSeconds(60) }],
    [anonymous],
    [{ ...good, sub: "" }],
    [claims],
    [good, { typ: "JWT" }],
    [good, { typ: undefined }],
    [good, { typ: "at+jwt", crit: ["x"], x: 1 }],
  ];
  for (const [payload, replaced = header] of cases) {
    const token = await server.sign("k1", payload as typeof good, replaced as typeof header)
      // jose signs no token with an unknown critical header
      .catch(() => "a.b.c");
    assertEquals(await check(token), 401, JSON.stringify([payload, replaced]));
  }
  await server.close();
});

Deno.test("createJwtAuth() refuses none, shared secrets, foreign keys and forged signatures", async () => {
  const { server, claims, check } = await start();
  const foreign = startIssuer();
  await foreign.addKey("ES256", "k1");
  const encode = (value: unknown) => btoa(JSON.stringify(value)).replaceAll("=", "");
  const unsigned = `${encode({ alg: "none", kid: "k1" })}.${encode(claims)}.`;
  const publicKey = new TextEncoder().encode(JSON.stringify(server.keys[0]));
  const shared = await new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "k1" })
    .sign(publicKey);
  const [header, , signature] = (await server.sign("k1", claims)).split(".");
  const forged = `${header}.${encode({ ...claims, sub: "u2" })}.${signature}`;
  const tokens = [unsigned, shared, forged, await foreign.sign("k1", claims), "a.b.c", "abc"];
  for (const token of tokens) assertEquals(await check(token), 401, token);
  const long = await server.sign("k1", { ...claims, x: "x".repeat(11_000) });
  assertEquals(await check(long), 401);
  await Promise.all([server.close(), foreign.close()]);
});

Deno.test("createJwtAuth() accepts every algorithm with a public key, and only those of the option", async () => {
  const { server, claims, check } = await start();
  for (const alg of JWT_ALGORITHMS) await server.addKey(alg, alg);
  for (const alg of JWT_ALGORITHMS) {
    assertEquals(await check(await server.sign(alg, claims)), "u1", alg);
  }
  const { authenticate } = createJwtAuth({
    issuer: server.issuer,
    audience: AUDIENCE,
    algorithms: ["RS256"],
  });
  const withToken = async (alg: string) =>
    createRestApiEvent({
      headers: { authorization: `Bearer ${await server.sign(alg, claims)}` },
    });
  assertEquals((await authenticate(await withToken("RS256"))).userId, "u1");
  const refused = await withToken("ES256");
  await assertRejects(async () => void await authenticate(refused));
  await server.close();
});

Deno.test("createJwtAuth() requests the keys again for an unknown key, after the cooldown", async () => {
  const { server, claims, check } = await start({ cooldownSeconds: 20 });
  await server.addKey("ES256", "k2");
  const published = server.keys;
  server.keys = published.slice(0, 1);
  assertEquals(await check(await server.sign("k1", claims)), "u1");
  server.keys = published;
  const rotated = await server.sign("k2", claims);
  const before = server.requests.length;
  assertEquals(await check(rotated), 401);
  assertEquals(server.requests.length, before);
  assertEquals(await atTime(Date.now() + 21_000, () => check(rotated)), "u1");
  assertEquals(server.requests.length, before + 1);
  await server.close();
});

Deno.test("createJwtAuth() answers 503 while the keys cannot be loaded, and then recovers", async () => {
  const { server, claims, check } = await start();
  const token = await server.sign("k1", claims);
  server.status = 500;
  assertEquals(await check(token), 503);
  server.status = 200;
  assertEquals(await check(token), "u1");
  await server.close();
});

Deno.test("createJwtAuth() tolerates the configured difference of clocks and limits the age", async () => {
  const { server, claims, check } = await start({
    clockToleranceSeconds: 30,
    maxTokenAgeSeconds: 300,
  });
  const iat = inSeconds(0);
  const sign = (more: object) => server.sign("k1", { ...claims, iat, ...more });
  assertEquals(await check(await sign({ exp: inSeconds(-10) })), "u1");
  assertEquals(await check(await sign({ exp: inSeconds(-40) })), 401);
  assertEquals(await check(await sign({ iat: inSeconds(-400) })), 401);
  assertEquals(await check(await server.sign("k1", claims)), 401);
  await server.close();
});

Deno.test("auth jwt gives the handler typed claims of the schema", async () => {
  const { server, claims } = await start();
  const auth = createJwtAuth({
    issuer: server.issuer,
    audience: AUDIENCE,
    userIdClaim: "uid",
    claims: z.object({ scope: z.string().transform((scope) => scope.split(" ")) }),
  });
  const handler = defineApiHandler({ auth })(({ context, userId, claims }) =>
    buildValidatedResponse(context, 200, { userId, scopes: claims.scope })
  );
  assertEquals(handler.operation.auth, "jwt");
  const call = async (more: object) => {
    const token = await server.sign("k1", { ...claims, ...more });
    const event = createHttpApiEvent({ headers: { authorization: `Bearer ${token}` } });
    return await handler(event, createLambdaContext());
  };
  const good = await call({ uid: "u7", scope: "read write" });
  assertEquals(JSON.parse(good.body), { userId: "u7", scopes: ["read", "write"] });
  assertEquals((await call({ uid: "u7" })).statusCode, 401);
  assertEquals((await call({ scope: "read" })).statusCode, 401);
  await server.close();
});

Deno.test("createJwtAuth() reads the keys of jwksUrl, and answers a token that is none", async () => {
  const { server, claims } = await start();
  const auth = createJwtAuth({
    issuer: server.issuer,
    audience: AUDIENCE,
    jwksUrl: `${server.issuer}/keys`,
  });
  const handler = defineApiHandler({ auth })(({ context, userId }) =>
    buildValidatedResponse(context, 200, { userId })
  );
  const headers = { authorization: `Bearer ${await server.sign("k1", claims)}` };
  const call = async (event = createRestApiEvent({ headers })) => {
    const { statusCode } = await handler(event, createLambdaContext());
    return statusCode;
  };
  assertEquals(await call(), 200);
  assertEquals(server.requests, ["/keys"]);
  assertEquals(await call(createRestApiEvent()), 401);
  const response = await handler(
    createRestApiEvent({ headers: { authorization: "Bearer a.b.c" } }),
    createLambdaContext(),
  );
  assertEquals(response.headers?.["WWW-Authenticate"], 'Bearer error="invalid_token"');
  await server.close();
});

const GOOD = { issuer: "https://login.example.com/", audience: "a" };
const BAD: [options: object, expected: string][] = [
  [{ audience: "a" }, "needs the option issuer"],
  [{ issuer: "https://login.example.com/" }, "needs the option audience"],
  [{ ...GOOD, audience: [] }, "audience is []"],
  [{ ...GOOD, audience: "" }, 'audience is ""'],
  [{ ...GOOD, issuer: "login.example.com" }, "issuer is"],
  [{ ...GOOD, issuer: "http://login.example.com" }, "an https URL"],
  [{ ...GOOD, jwksUrl: "http://login.example.com/keys" }, "jwksUrl is"],
  [{ ...GOOD, algorithms: ["none"] }, 'algorithms is ["none"]'],
  [{ ...GOOD, algorithms: ["RS256", "HS256"] }, "shared secret"],
  [{ ...GOOD, algorithms: [] }, "algorithms is []"],
  [{ ...GOOD, clockToleranceSeconds: 301 }, "clockToleranceSeconds is 301"],
  [{ ...GOOD, clockTolerance: 1 }, "no option clockTolerance"],
  [{ ...GOOD, claims: {} }, "claims is {}"],
];

Deno.test("createJwtAuth() and jwt() of defineAuth() refuse incomplete options at once", () => {
  const { jwt } = defineAuth(() => Promise.reject(new Error("not needed")), {
    secret: "at-least-32-random-characters-0123456789",
    baseURL: "http://localhost:3000",
  });
  for (const [options, expected] of BAD) {
    for (const create of [createJwtAuth, jwt]) {
      const error = assertThrows(() => create(options as JwtAuthOptions), ConfigurationError);
      assert(error.message.includes(expected), error.message);
    }
  }
  assertThrows(() => createGatewayJwtAuth({ issuer: "x" } as JwtAuthOptions), ConfigurationError);
});

Deno.test("createGatewayJwtAuth() reads the claims that the gateway has verified", async () => {
  const auth = createGatewayJwtAuth({
    issuer: "https://login.example.com",
    audience: ["web", "app"],
    claims: z.object({ level: z.coerce.number() }),
  });
  const handler = defineApiHandler({ auth })(({ context, userId, claims }) =>
    buildValidatedResponse(context, 200, { userId, level: claims.level })
  );
  assertEquals(handler.operation.auth, "gateway-jwt");
  const good = {
    iss: "https://login.example.com",
    aud: "app",
    sub: "u1",
    exp: String(inSeconds(60)),
    level: "3",
  };
  const call = async (authorizer: unknown) => {
    const event = createHttpApiEvent({});
    (event.requestContext as unknown as { authorizer: unknown }).authorizer = authorizer;
    return await handler(event, createLambdaContext());
  };
  const accepted = await call({ jwt: { claims: good, scopes: null } });
  assertEquals([accepted.statusCode, JSON.parse(accepted.body)], [200, { userId: "u1", level: 3 }]);
  assertEquals((await call({ jwt: { claims: { ...good, aud: "[x web]" } } })).statusCode, 200);
  assertEquals((await call({ claims: good })).statusCode, 200);
  const asCognitoDate = (seconds: number) => {
    const [weekday, day, month, year, time] = new Date(seconds * 1000).toUTCString().split(" ");
    return `${weekday.slice(0, 3)} ${month} ${day} ${time} UTC ${year}`;
  };
  // a REST API's Cognito authorizer writes times as dates
  const cognito = { ...good, exp: asCognitoDate(inSeconds(60)) };
  assertEquals((await call({ claims: cognito })).statusCode, 200, cognito.exp);
  const refused: unknown[] = [
    undefined,
    { lambda: { userId: "u1" } },
    { jwt: {} },
    { jwt: { claims: { ...good, iss: "https://evil.example" } } },
    { jwt: { claims: { ...good, aud: "other" } } },
    { jwt: { claims: { ...good, aud: undefined } } },
    { jwt: { claims: { ...good, exp: String(inSeconds(-1)) } } },
    { jwt: { claims: { ...good, exp: undefined } } },
    { claims: { ...good, exp: asCognitoDate(inSeconds(-1)) } },
    { claims: { ...good, exp: "Mon Nonsense 15 05:56:21 UTC 2099" } },
    { claims: { ...good, exp: "UTC" } },
    { claims: { ...good, exp: "Mon Jun 15 05:56:21 CET 2099" } },
    { jwt: { claims: { ...good, sub: "" } } },
    { jwt: { claims: { ...good, level: "x" } } },
  ];
  for (const authorizer of refused) {
    assertEquals((await call(authorizer)).statusCode, 401, JSON.stringify(authorizer));
  }
});

Deno.test("createJwtAuth() requests new keys while the clock is set back", async () => {
  const { server, claims, check } = await start();
  assertEquals(await check(await server.sign("k1", claims)), "u1");
  await server.addKey("ES256", "k2");
  await withSteppedClock(async (setMs) => {
    setMs(-3_600_000);
    assertEquals(await check(await server.sign("k2", claims)), "u1");
  });
  await server.close();
});
