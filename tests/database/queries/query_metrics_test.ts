import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import {
  closeDrizzleClient,
  DatabaseError,
  getDrizzleClient,
  withDistSqlRetry,
  withQueryMetrics,
  withTransaction,
} from "../../../database/mod.ts";
import { UniqueViolationError } from "../../../errors/mod.ts";
import { sql } from "../../../database/orm.ts";
import { causeChain } from "../../../errors/cause_chain.ts";
import { NotFoundError, ServiceUnavailableError, ValidationError } from "../../../errors/mod.ts";
import { onSpanEnd, setLogOutput, type Span } from "../../../observability/mod.ts";
import { inspect } from "node:util";
import { createInvocation } from "../../support/invocation.ts";
import { withEnv } from "../../support/with_env.ts";

interface Seen {
  text: string;
  lines: Record<string, unknown>[];
  spans: Span[];
}

async function observe(work: () => Promise<unknown>): Promise<Seen> {
  let text = "";
  const spans: Span[] = [];
  const restore = setLogOutput((part) => void (text += part));
  const unregister = onSpanEnd((span) => void spans.push(span));
  try {
    await work();
  } finally {
    restore();
    unregister();
  }
  return {
    text,
    spans,
    lines: text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line)),
  };
}

function conflict(): Error {
  return Object.assign(new Error("conflict"), { code: "40001" });
}

Deno.test("withQueryMetrics() emits duration, errors and retries with the query's name, and a span", async () => {
  const { lines, spans } = await observe(() =>
    withQueryMetrics("findNote", () => Promise.resolve(1))
  );
  assertEquals(lines.length, 1);
  assertEquals([lines[0].queryName, lines[0].QueryErrors, lines[0].QueryRetries], [
    "findNote",
    undefined,
    undefined,
  ]);
  assertEquals(typeof lines[0].QueryDuration, "number");
  const [{ CloudWatchMetrics: [{ Dimensions }] }] = [
    lines[0]._aws as { CloudWatchMetrics: { Dimensions: unknown }[] },
  ];
  assertEquals(Dimensions, [["service", "queryName"]]);
  assertEquals(spans.map(({ name, status }) => [name, status]), [["findNote", "ok"]]);
});

Deno.test("withQueryMetrics() retries conflicts by default, and counts the retries", async () => {
  let calls = 0;
  const { lines } = await observe(() =>
    withQueryMetrics("q", () => ++calls < 3 ? Promise.reject(conflict()) : Promise.resolve(), {
      retry: { baseDelayMs: 1 },
    })
  );
  assertEquals([calls, lines[0].QueryRetries, lines[0].QueryErrors], [3, 2, undefined]);
  calls = 0;
  await observe(() =>
    assertRejects(() =>
      withQueryMetrics("q", () => (calls++, Promise.reject(conflict())), { retry: false })
    )
  );
  assertEquals(calls, 1);
});

Deno.test("withQueryMetrics() logs one line for a failure, also when queries are nested", async () => {
  const { lines, spans } = await observe(() =>
    assertRejects(
      () =>
        withQueryMetrics("outer", () =>
          withQueryMetrics("inner", () => Promise.reject(new TypeError("broken")))),
      DatabaseError,
      "Query inner failed",
    )
  );
  const errors = lines.filter(({ level }) => level === "ERROR");
  assertEquals(errors.map(({ queryName }) => queryName), ["inner"]);
  assertEquals(spans.map(({ status }) => status), ["error", "error"]);
  assertEquals(lines.filter(({ QueryErrors }) => QueryErrors === 1).length, 2);
});

Deno.test("withQueryMetrics() lets an application's own error pass, and counts none below status 500", async () => {
  const error = new NotFoundError("No such note");
  const { lines, spans } = await observe(async () => {
    assertStrictEquals(
      await assertRejects(() => withQueryMetrics("q", () => Promise.reject(error))),
      error,
    );
  });
  assertEquals(lines.map(({ level, QueryErrors }) => [level, QueryErrors]), [[
    undefined,
    undefined,
  ]]);
  assertEquals(spans[0].status, "ok");
});

Deno.test("withQueryMetrics() takes a text that PostgreSQL cannot store for bad input, without showing it", async () => {
  const db = await getDrizzleClient({ provider: "embedded-pg" });
  try {
    const { lines } = await observe(async () => {
      const query = () => db.execute(sql`select ${"zebra\0"}::text`);
      const error = await assertRejects(
        () => withQueryMetrics("findZebra", query),
        ValidationError,
      );
      assertEquals([error.statusCode, /zebra/.test(inspect(error))], [400, false]);
    });
    assertEquals(lines.map(({ QueryErrors }) => QueryErrors), [undefined]);
  } finally {
    await closeDrizzleClient();
  }
});

Deno.test("withQueryMetrics() logs its input at DEBUG alone, without secrets", async () => {
  const run = (): Promise<unknown> =>
    withQueryMetrics("q", () => Promise.resolve(), {
      logInput: { title: "Milk", password: "marker-secret" },
    });
  assertEquals((await observe(run)).text.includes("Milk"), false);
  await withEnv({ LOG_LEVEL: "DEBUG" }, async () => {
    const { enterInvocation } = await import("../../../observability/invocation_context.ts");
    const invocation = createInvocation();
    invocation.level = 0;
    const { text } = await observe(() => enterInvocation(invocation, run));
    assert(text.includes("Milk"));
    assert(!text.includes("marker-secret"));
  });
});

Deno.test("withQueryMetrics() shows SQL and parameters in no error, log line, metric or span", async () => {
  const config = {
    provider: "embedded-pg",
    connectionString: "memory://marker",
    instrument: false,
  } as const;
  const db = await getDrizzleClient(config);
  const MARKER = "marker-4711";
  await db.execute(
    sql`CREATE TABLE m (id uuid PRIMARY KEY, email text UNIQUE, n int CHECK (n < 5))`,
  );
  await db.execute(sql`INSERT INTO m VALUES (gen_random_uuid(), ${MARKER}, 1)`);
  const failures: [sqlState: string | undefined, run: () => Promise<unknown>][] = [
    ["23505", () => db.execute(sql`INSERT INTO m VALUES (gen_random_uuid(), ${MARKER}, 1)`)],
    ["22P02", () => db.execute(sql`SELECT * FROM m WHERE id = ${MARKER}`)],
    ["42601", () => db.execute(sql`SELEKT ${MARKER}`)],
    ["42P01", () => db.execute(sql`SELECT ${MARKER} FROM secret_plan`)],
    ["23514", () => db.execute(sql`INSERT INTO m VALUES (gen_random_uuid(), ${MARKER + "2"}, 9)`)],
    ["P0001", () => db.execute(sql.raw(`DO $$ BEGIN RAISE EXCEPTION '${MARKER}'; END $$`))],
    [
      "23505",
      () =>
        db.transaction((tx) =>
          tx.execute(sql`INSERT INTO m VALUES (gen_random_uuid(), ${MARKER}, 1)`)
        ),
    ],
  ];
  try {
    for (const [sqlState, run] of failures) {
      let error: unknown;
      const seen = await observe(async () => {
        error = await assertRejects(() => withQueryMetrics("q", run), DatabaseError);
      });
      assertInstanceOf(error, DatabaseError);
      const status = sqlState === "23505" ? 409 : 500;
      assertEquals([error.sqlState, error.queryName, error.statusCode], [sqlState, "q", status]);
      const everything = [
        seen.text,
        JSON.stringify(
          seen.spans.map(({ name, attributes, metadata }) => ({ name, attributes, metadata })),
        ),
        // the error with its whole chain as a debugger or console.log would show it
        inspect(error, { depth: 9, showHidden: true }),
        ...causeChain(error).map((link) =>
          `${link} ${(link as Error).stack} ${JSON.stringify(link)}`
        ),
      ].join("\n");
      assertEquals(
        /marker-4711|INSERT INTO|SELEKT/.test(everything),
        false,
        `${sqlState}: ${everything}`,
      );
    }
  } finally {
    await closeDrizzleClient(config);
  }
});

Deno.test("withQueryMetrics() reports the attempts of a conflict, also those of an inner retry", async () => {
  const retry = { maxRetries: 2, baseDelayMs: 1 };
  const conflicting = () => Promise.reject(conflict());
  const { lines } = await observe(async () => {
    const error = await assertRejects(
      () => withQueryMetrics("q", conflicting, { retry }),
      DatabaseError,
    );
    assertEquals([error.attempts, error.message], [
      3,
      "Query q failed with SQLSTATE 40001 after 3 attempts",
    ]);
    const inner = () =>
      withQueryMetrics("q", () => withDistSqlRetry(conflicting, { ...retry, maxRetries: 4 }), {
        retry,
      });
    assertEquals((await assertRejects(inner, DatabaseError)).attempts, 5);
    const once = () => withQueryMetrics("q", conflicting, { retry: false });
    assertEquals((await assertRejects(once, DatabaseError)).attempts, 1);
    const other = () =>
      withQueryMetrics("q", () => Promise.reject(Object.assign(new Error("x"), { code: "57014" })));
    assertEquals((await assertRejects(other, DatabaseError)).attempts, undefined);
  });
  assertEquals(lines.find(({ level }) => level === "ERROR")?.retries, 2);
});

Deno.test("withQueryMetrics() leaves nested queries in a transaction to its retry, which reports its attempts", async () => {
  const db = await getDrizzleClient({ provider: "embedded-pg" });
  const retry = { maxRetries: 2, baseDelayMs: 1 };
  const calls = { outer: 0, middle: 0, inner: 0 };
  try {
    await observe(async () => {
      const outer = () =>
        withQueryMetrics("outer", () => {
          calls.outer++;
          return withTransaction(db, (tx) =>
            withQueryMetrics("middle", () => {
              calls.middle++;
              return withQueryMetrics("inner", () => {
                calls.inner++;
                return tx.execute(sql`DO $$ BEGIN RAISE SQLSTATE '40001'; END $$`);
              }, { retry });
            }, { retry }));
        }, { retry });
      const error = await assertRejects(outer, DatabaseError);
      assertEquals([error.attempts, error.sqlState, error.queryName], [3, "40001", "outer"]);
      assertEquals(calls, { outer: 3, middle: 3, inner: 3 });
    });
  } finally {
    await closeDrizzleClient();
  }
});

Deno.test("withQueryMetrics() answers a constraint once, with the map of the innermost query that has it", async () => {
  const violation = Object.assign(new Error("duplicate"), {
    code: "23505",
    constraint: "users_email_key",
  });
  const violate = () => Promise.reject(violation);
  const getAnswer = (message: string) => ({
    constraints: { users_email_key: { field: "email", message } },
  });
  const { lines } = await observe(async () => {
    const outer = () =>
      withQueryMetrics("outer", () => withQueryMetrics("inner", violate), getAnswer("outer"));
    const error = await assertRejects(outer, UniqueViolationError);
    assertEquals([error.errors, error.queryName], [{ email: ["outer"] }, "inner"]);
    const both = () =>
      withQueryMetrics(
        "outer",
        () => withQueryMetrics("inner", violate, getAnswer("inner")),
        getAnswer("outer"),
      );
    assertEquals((await assertRejects(both, UniqueViolationError)).errors, { email: ["inner"] });
  });
  // a violation that a query maps is no news
  assertEquals(
    lines.filter(({ level }) => level !== undefined).map((
      { level, queryName },
    ) => [level, queryName]),
    [
      ["WARN", "inner"],
    ],
  );
});

Deno.test("withQueryMetrics() lets an application's error pass that drizzle has wrapped", async () => {
  const own = new ServiceUnavailableError("later");
  const wrapped = Object.assign(new Error("Failed query", { cause: own }), {
    query: "select 1",
    params: [],
  });
  await observe(async () => {
    assertStrictEquals(
      await assertRejects(
        () => withQueryMetrics("q", () => Promise.reject(wrapped)),
        ServiceUnavailableError,
      ),
      own,
    );
  });
});
