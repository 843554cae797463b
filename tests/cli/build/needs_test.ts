import { assertEquals } from "@std/assert";
import { type Needs, readNeeds as readTree } from "../../../cli/build/needs.ts";
import { parseSyntax } from "../../../cli/sources/syntax.ts";

const readNeeds = (code: string): Needs => readTree(parseSyntax(code));

const DATABASE = `import { getDrizzleClient } from "@trellis/fn/database";\n`;

Deno.test("readNeeds() finds the providers that configurations name", () => {
  const cases: readonly [code: string, expected: Pick<Needs, "providers" | "anyProvider">][] = [
    [`getDrizzleClient({ provider: "distsql" })`, { providers: ["distsql"], anyProvider: false }],
    [`getDrizzleClient({ "provider": ("distsql" as const) })`.replace(" as const", ""), {
      providers: ["distsql"],
      anyProvider: false,
    }],
    [`const a = local ? { provider: "embedded-pg" } : { provider: "serverless-pg" }`, {
      providers: ["embedded-pg", "serverless-pg"],
      anyProvider: false,
    }],
    [`const a = { provider: local ? "embedded-pg" : "branching-pg" }`, {
      providers: ["branching-pg", "embedded-pg"],
      anyProvider: false,
    }],
    [`const a = { provider: given ?? "distsql" }`, { providers: ["distsql"], anyProvider: true }],
    [`const a = { provider: getOptionalEnv("P", "distsql") }`, {
      providers: [],
      anyProvider: true,
    }],
    [`const a = { provider }`, { providers: [], anyProvider: true }],
    [`const a = { provider: "github" }`, { providers: [], anyProvider: true }],
    [`const a = { provider: "github" }, b = { provider: "distsql" }`, {
      providers: ["distsql"],
      anyProvider: false,
    }],
    [`getDrizzleClient(config)`, { providers: [], anyProvider: true }],
  ];
  for (const [code, expected] of cases) {
    const { providers, anyProvider } = readNeeds(DATABASE + code);
    assertEquals({ providers, anyProvider }, expected, code);
  }
});

Deno.test("readNeeds() finds no provider in a function without a database", () => {
  for (
    const code of [
      `const a = { provider: "distsql" }`,
      `import { eq } from "@trellis/fn/database/orm"; eq({ provider: p })`,
    ]
  ) {
    const none = { betterAuth: false, apiKeys: false, jwt: false, hasImage: false };
    assertEquals(readNeeds(code), { providers: [], anyProvider: false, ...none }, code);
  }
});

Deno.test("readNeeds() tells who may use the auth library from who checks sessions", () => {
  const cases: readonly [code: string, betterAuth: boolean][] = [
    [`import { configureSessionAuth } from "@trellis/fn/auth"; configureSessionAuth(a, b)`, false],
    [`import { createAuthHandler as c } from "@trellis/fn/auth"; c(x)`, true],
    [
      `import { getConfiguredSessionAuth } from "@trellis/fn/auth"; const a = await getConfiguredSessionAuth();`,
      false,
    ],
    [
      `import { getConfiguredSessionAuth } from "@trellis/fn/auth"; const a = await getConfiguredSessionAuth(); a.api.signOut({});`,
      true,
    ],
    [
      `import { getConfiguredSessionAuth } from "@trellis/fn/auth"; const a = await getConfiguredSessionAuth(); keep(a);`,
      true,
    ],
    [
      `import { getConfiguredSessionAuth as g, validateSession } from "@trellis/fn/auth"; validateSession(await g(), t)`,
      false,
    ],
    [
      `import { createAuth, expireSession } from "@trellis/fn/auth"; expireSession((createAuth(db, c)), t, db)`,
      false,
    ],
    [
      `import { createAuth, validateSession } from "@trellis/fn/auth"; validateSession(other, createAuth(db, c))`,
      true,
    ],
    [
      `import { getAuth, validateSession } from "@trellis/fn/auth"; validateSession(await getAuth(db, c), t); keep(getAuth)`,
      true,
    ],
    [
      `import { createAuthCleanupHandler, getConfiguredSessionAuth } from "@trellis/fn/auth"; createAuthCleanupHandler(getConfiguredSessionAuth, {})`,
      false,
    ],
    [
      `import { createAuthCleanupHandler, getConfiguredSessionAuth } from "@trellis/fn/auth"; createAuthCleanupHandler(x, getConfiguredSessionAuth)`,
      true,
    ],
    [
      `import { getAuth, removeExpiredAuthRows } from "@trellis/fn/auth"; removeExpiredAuthRows(await getAuth(db, c))`,
      false,
    ],
    [`import * as auth from "@trellis/fn/auth"; auth.validateSession(a, b)`, true],
    [`export * from "@trellis/fn/auth"`, true],
    [`const { createAuth } = await import("@trellis/fn/auth")`, true],
    [`var a = __require("@trellis/fn/auth")`, true],
    [`import { createAuth } from "./own.ts"; createAuth()`, false],
  ];
  for (const [code, betterAuth] of cases) {
    assertEquals(readNeeds(code).betterAuth, betterAuth, code);
  }
});

Deno.test("readNeeds() tells which functions of defineAuth() are used", () => {
  const DEFINE = `import { defineAuth } from "@trellis/fn/auth";
    var { session, apiKey: key, jwt, getAuth } = defineAuth(getDb, { secret });\n`;
  const cases: readonly [code: string, used: readonly string[]][] = [
    [`${DEFINE} define({ auth: session({ roles: ["admin"] }) })`, []],
    [`${DEFINE} define({ auth: key() })`, ["apiKeys"]],
    [`${DEFINE} define({ auth: jwt({ issuer }) })`, ["jwt"]],
    [`${DEFINE} (await getAuth()).api.signOut({})`, ["betterAuth"]],
    [
      `import { createAuthCleanupHandler } from "@trellis/fn/auth"; ${DEFINE} createAuthCleanupHandler(getAuth)`,
      [],
    ],
    [`import { createAuthHandler } from "@trellis/fn/auth"; ${DEFINE} createAuthHandler(getAuth)`, [
      "betterAuth",
    ]],
    [
      `import { validateSession } from "@trellis/fn/auth"; ${DEFINE} validateSession(await getAuth(), t)`,
      [],
    ],
    [
      `import { defineAuth } from "@trellis/fn/auth"; var auth = defineAuth(getDb, c); auth.session()`,
      [],
    ],
    [`import { defineAuth } from "@trellis/fn/auth"; var auth = defineAuth(getDb, c); auth.jwt()`, [
      "jwt",
    ]],
    // any of its functions may be called
    [
      `import { defineAuth } from "@trellis/fn/auth"; var auth = defineAuth(getDb, c); auth[name]()`,
      [
        "apiKeys",
        "betterAuth",
        "jwt",
      ],
    ],
    [`import { defineAuth } from "@trellis/fn/auth"; var never = use(defineAuth(getDb, c))`, [
      "apiKeys",
      "betterAuth",
      "jwt",
    ]],
    [`import { defineAuth } from "@trellis/fn/auth"; use(defineAuth(getDb, c))`, [
      "apiKeys",
      "betterAuth",
      "jwt",
    ]],
    [
      `import { defineAuth } from "@trellis/fn/auth"; var { session, ...others } = defineAuth(a, b)`,
      [
        "apiKeys",
        "betterAuth",
        "jwt",
      ],
    ],
  ];
  for (const [code, used] of cases) {
    const { betterAuth, apiKeys, jwt } = readNeeds(code);
    const found = Object.entries({ betterAuth, apiKeys, jwt }).filter(([, is]) => is);
    assertEquals(found.map(([name]) => name).sort(), used, code);
  }
});
