import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import process from "node:process";
import { inspect } from "node:util";
import { withObservability } from "../../core/mod.ts";
import { defineEnv, getRequiredEnv, loadSources, secret } from "../../env/mod.ts";
import { resetSources } from "../../env/sources.ts";
import { ConfigurationError, DeadlineExceededError } from "../../errors/mod.ts";
import { createLambdaContext } from "../../testing/mod.ts";
import {
  getSecretsEnvironment,
  type SecretsServer,
  startSecretsServer,
} from "../support/secrets_server.ts";
import { STALLS, startStallingServer } from "../support/stalling_server.ts";
import { withEnv } from "../support/with_env.ts";

const MINUTE_MS = 60_000;

/** Runs a test with a server, variables, and a clock that can be moved. */
async function withSources(
  variables: Record<string, string | undefined>,
  use: (server: SecretsServer, passMs: (ms: number) => void) => Promise<void>,
): Promise<void> {
  const server = startSecretsServer();
  const { now } = Date;
  let passedMs = 0;
  Date.now = () => now() + passedMs;
  const blank = { AUTH_SECRET: undefined, LIMIT: undefined, DB_PASSWORD: undefined };
  try {
    await withEnv({ ...blank, ...getSecretsEnvironment(server), ...variables }, async () => {
      try {
        await use(server, (ms) => void (passedMs += ms));
      } finally {
        resetSources();
      }
    });
  } finally {
    Date.now = now;
    await server.stop();
  }
}

const SOURCES = {
  AUTH_SECRET_SOURCE: "secretsmanager:notes-dev/AUTH_SECRET",
  DB_PASSWORD_SOURCE: "secretsmanager:shared/db#password",
  LIMIT_SOURCE: "ssm:/notes-dev/LIMIT",
};

Deno.test("loadSources() sets variables from Secrets Manager and SSM by the official clients, once", async () => {
  await withSources(SOURCES, async ({ secrets, parameters, calls }) => {
    secrets.set("notes-dev/AUTH_SECRET", "s-1");
    secrets.set("shared/db", JSON.stringify({ username: "app", password: "p-1" }));
    parameters.set("/notes-dev/LIMIT", "20");
    await Promise.all([loadSources(), loadSources()]);
    assertEquals(
      ["AUTH_SECRET", "DB_PASSWORD", "LIMIT"].map(getRequiredEnv),
      ["s-1", "p-1", "20"],
    );
    await loadSources();
    assertEquals(calls.sort(), [
      "GetParameters /notes-dev/LIMIT",
      "GetSecretValue notes-dev/AUTH_SECRET",
      "GetSecretValue shared/db",
    ]);
  });
});

Deno.test("loadSources() keeps a variable that has a value, and ignores variables of other kinds", async () => {
  const variables = {
    ...SOURCES,
    AUTH_SECRET: "local",
    LIMIT: "1",
    DB_PASSWORD: "x",
    OPEN_SOURCE: "yes",
  };
  await withSources(variables, async ({ calls }) => {
    await loadSources();
    assertEquals([getRequiredEnv("AUTH_SECRET"), calls], ["local", []]);
  });
});

Deno.test("loadSources() asks SSM for at most ten parameters at once", async () => {
  const names = Array.from({ length: 12 }, (_, index) => `P${index}`);
  const variables = Object.fromEntries(names.map((name) => [`${name}_SOURCE`, `ssm:/x/${name}`]));
  await withSources(variables, async ({ parameters, calls }) => {
    for (const name of names) parameters.set(`/x/${name}`, name.toLowerCase());
    await loadSources();
    assertEquals(names.map(getRequiredEnv), names.map((name) => name.toLowerCase()));
    assertEquals(calls.map((call) => call.split(",").length).sort(), [10, 2]);
  });
});

Deno.test("loadSources() names all variables whose source has no value, and no value of the others", async () => {
  await withSources(SOURCES, async ({ secrets }) => {
    secrets.set("shared/db", "not-json-hunter2");
    const error = await assertRejects(() => loadSources(), ConfigurationError);
    for (
      const text of [
        "AUTH_SECRET",
        "DB_PASSWORD",
        "LIMIT",
        "trellis secrets set",
        'no field "password"',
      ]
    ) {
      assertStringIncludes(error.message, text);
    }
    assert(!inspect(error, { depth: 9 }).includes("hunter2"));
  });
});

Deno.test("loadSources() refuses a source that names nothing, and a time limit that is too short", async () => {
  await withSources({ AUTH_SECRET_SOURCE: "secretsmanager:" }, async () => {
    await assertRejects(() => loadSources(), ConfigurationError, "AUTH_SECRET_SOURCE is");
  });
  await assertRejects(() => loadSources({ ttlSeconds: 1 }), ConfigurationError, "ttlSeconds");
});

Deno.test("A handler sees a rotated value in the first invocation after the time limit", async () => {
  await withSources(SOURCES, async ({ secrets, parameters, calls }, passMs) => {
    secrets.set("notes-dev/AUTH_SECRET", "s-1");
    secrets.set("shared/db", `{"password":"p"}`);
    parameters.set("/notes-dev/LIMIT", "20");
    const env = defineEnv({ AUTH_SECRET: { secret: true } });
    await loadSources({ ttlSeconds: 60 });
    const handler = withObservability(
      () => [env.AUTH_SECRET, getRequiredEnv("AUTH_SECRET")],
      { operationName: "Sources", logging: { summary: false }, metrics: false },
    );
    assertEquals(await handler({}, createLambdaContext()), ["s-1", "s-1"]);
    secrets.set("notes-dev/AUTH_SECRET", "s-2");
    passMs(MINUTE_MS - 5_000);
    assertEquals(await handler({}, createLambdaContext()), ["s-1", "s-1"]);
    assertEquals(calls.length, 3);
    passMs(5_000);
    assertEquals(await handler({}, createLambdaContext()), ["s-2", "s-2"]);
    assertEquals(calls.length, 6);
  });
});

Deno.test("A failed refresh keeps the value, warns without it, and is tried again after 30 seconds", async () => {
  const warnings: string[] = [];
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error) => void warnings.push(String(warning));
  try {
    const { AUTH_SECRET_SOURCE } = SOURCES;
    await withSources({ AUTH_SECRET_SOURCE }, async (server, passMs) => {
      server.secrets.set("notes-dev/AUTH_SECRET", "value-one");
      await loadSources();
      server.secrets.set("notes-dev/AUTH_SECRET", "value-two");
      server.fail("DecryptionFailure", 400);
      passMs(5 * MINUTE_MS);
      await loadSources();
      assertEquals([getRequiredEnv("AUTH_SECRET"), warnings.length], ["value-one", 1]);
      assertStringIncludes(warnings[0], "DecryptionFailure");
      assert(!warnings[0].includes("value-one"));
      passMs(29_000);
      await loadSources();
      assertEquals(getRequiredEnv("AUTH_SECRET"), "value-one");
      passMs(1_000);
      await loadSources();
      assertEquals(getRequiredEnv("AUTH_SECRET"), "value-two");
    });
  } finally {
    process.emitWarning = emitWarning;
  }
});

Deno.test("secret() reads only its own source, and again with fresh at most every ten seconds", async () => {
  await withSources(SOURCES, async ({ secrets, calls }, passMs) => {
    secrets.set("notes-dev/AUTH_SECRET", "s-1");
    const auth = secret("AUTH_SECRET");
    assertEquals(calls, []);
    assertEquals([await auth.get(), await auth.get({ fresh: true })], ["s-1", "s-1"]);
    secrets.set("notes-dev/AUTH_SECRET", "s-2");
    passMs(10_000);
    assertEquals([await auth.get(), await auth.get({ fresh: true })], ["s-1", "s-2"]);
    assertEquals(calls.length, 2);
    assertEquals([JSON.stringify(auth), inspect(auth).includes("s-2")], ['"[REDACTED]"', false]);
  });
});

Deno.test("secret() falls back to the variable, and throws if neither is set", async () => {
  await withSources({ LIMIT: "5" }, async ({ calls }) => {
    assertEquals([await secret("LIMIT").get(), calls], ["5", []]);
    await assertRejects(
      () => secret("AUTH_SECRET").get(),
      ConfigurationError,
      "AUTH_SECRET is not set",
    );
  });
});

Deno.test("A value is read again after its time while the clock is set back", async () => {
  await withSources({ AUTH_SECRET_SOURCE: SOURCES.AUTH_SECRET_SOURCE }, async (server, passMs) => {
    server.secrets.set("notes-dev/AUTH_SECRET", "s-1");
    await loadSources({ ttlSeconds: 10 });
    server.secrets.set("notes-dev/AUTH_SECRET", "s-2");
    const { now } = performance;
    passMs(-60 * MINUTE_MS);
    performance.now = () => now.call(performance) + 11_000;
    try {
      await loadSources();
      assertEquals(getRequiredEnv("AUTH_SECRET"), "s-2");
    } finally {
      performance.now = now;
    }
  });
});

for (const stall of STALLS) {
  Deno.test({
    name: `A handler uses the known value before its deadline when an answer stops ${stall}`,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const stalled = await startStallingServer();
      stalled.stall = stall;
      await withSources(
        { AUTH_SECRET_SOURCE: SOURCES.AUTH_SECRET_SOURCE },
        async ({ secrets }, passMs) => {
          secrets.set("notes-dev/AUTH_SECRET", "s-1");
          await loadSources({ ttlSeconds: 60 });
          const read = withObservability(
            async () => [getRequiredEnv("AUTH_SECRET"), await secret("AUTH_SECRET").get()],
            { operationName: "Known", logging: { level: "SILENT" }, metrics: false },
          );
          await withEnv({ AWS_ENDPOINT_URL_SECRETS_MANAGER: stalled.url }, async () => {
            passMs(MINUTE_MS);
            const context = { ...createLambdaContext(), getRemainingTimeInMillis: () => 400 };
            assertEquals(await read({}, context), ["s-1", "s-1"]);
            // the next attempt is made later
            assertEquals(await read({}, context), ["s-1", "s-1"]);
          });
        },
      );
      await stalled.stop();
    },
  });
}

Deno.test({
  name:
    "A handler fails at its deadline while a value is read for the first time, and does not run later",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const stalled = await startStallingServer();
    await withSources({ ...SOURCES }, async ({ secrets, parameters }, passMs) => {
      secrets.set("notes-dev/AUTH_SECRET", "s-1");
      secrets.set("shared/db", `{"password":"p"}`);
      parameters.set("/notes-dev/LIMIT", "20");
      await loadSources({ ttlSeconds: 60 });
      let runs = 0;
      const handler = withObservability(() => ++runs, {
        operationName: "Unknown",
        logging: { level: "SILENT" },
        metrics: false,
      });
      const added = {
        AWS_ENDPOINT_URL_SECRETS_MANAGER: stalled.url,
        EXTRA_SOURCE: "secretsmanager:x",
      };
      await withEnv({ EXTRA: undefined, ...added }, async () => {
        passMs(MINUTE_MS);
        const context = { ...createLambdaContext(), getRemainingTimeInMillis: () => 100 };
        await assertRejects(() => handler({}, context), DeadlineExceededError);
        await stalled.stop();
        await assertRejects(() => loadSources(), ConfigurationError, "EXTRA");
        assertEquals(runs, 0);
      });
    });
  },
});
