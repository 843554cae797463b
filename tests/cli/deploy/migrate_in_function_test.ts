import { assertEquals, assertRejects } from "@std/assert";
import { listFoundations, StepError } from "../../../cli/deploy/deployment.ts";
import { grantInFunction, migrateInFunction } from "../../../cli/deploy/migrate_in_function.ts";
import type {
  InvocationOutcome,
  MigrationFunction,
} from "../../../cli/deploy/migration_function.ts";
import type { MigrationResponse } from "../../../database/migrate.ts";

const DIGEST = "d1";
const LOCKED = {
  ok: true,
  action: "migrate",
  applied: [],
  isComplete: false,
  isLocked: true,
  warnings: [],
} as const;
const TIMEOUT = { interruption: "Task timed out after 900.00 seconds" };

/** The state of migrations that are pending, with the finished statements of the first one. */
function status(pending: string[], statementsDone = 0, isTransaction = false): MigrationResponse {
  return {
    ok: true,
    action: "status",
    digest: DIGEST,
    applied: [],
    changed: [],
    findings: [],
    pending: pending.map((tag, at) => ({
      tag,
      statements: 5,
      isTransaction,
      statementsDone: at === 0 ? statementsDone : 0,
    })),
  };
}

/** A function with these outcomes, in order; the last one stays. */
function answer(
  outcomes: { status: MigrationResponse[]; migrate: (MigrationResponse | typeof TIMEOUT)[] },
): MigrationFunction {
  const take = <T>(list: T[]): T => list.length > 1 ? list.shift()! : list[0];
  return {
    name: "notes-dev-Migrations",
    invoke({ action }): Promise<InvocationOutcome> {
      const outcome = take<MigrationResponse | typeof TIMEOUT>(
        action === "status" ? outcomes.status : outcomes.migrate,
      );
      return Promise.resolve("interruption" in outcome ? outcome : { response: outcome });
    },
  };
}

/** Each sleep, and each reading of the clock, takes a minute. */
function createOptions(): { notes: string[]; options: Parameters<typeof migrateInFunction>[1] } {
  let nowMs = 0;
  const notes: string[] = [];
  const clock = { now: () => nowMs += 60_000, sleep: () => Promise.resolve() };
  return { notes, options: { digest: DIGEST, onNote: (text) => void notes.push(text), clock } };
}

Deno.test("migrateInFunction() invokes until nothing is pending, also after timeouts", async () => {
  const { notes, options } = createOptions();
  const fn = answer({
    status: [status(["1", "2"]), status(["2"], 1), status(["2"], 4), status([])],
    migrate: [TIMEOUT, LOCKED, LOCKED],
  });
  assertEquals(await migrateInFunction(fn, options), "notes-dev-Migrations: 2 applied");
  assertEquals(notes, [
    "pending 1: 5 statements",
    "pending 2: 5 statements",
    "2: 1 of 5 statements done after 1 invocation: continuing, because Task timed out after 900.00 seconds",
    "2: 4 of 5 statements done after 2 invocations: continuing, because another run holds the lock",
  ]);
});

Deno.test("migrateInFunction() gives up a transaction that is longer than the function, and a run without progress", async () => {
  for (
    const [fn, message] of [
      [
        answer({ status: [status(["0007_big"], 0, true)], migrate: [TIMEOUT] }),
        "0007_big.sql is one transaction and needs longer than notes-dev-Migrations may run, so it was " +
        "rolled back 2 times",
      ],
      [
        answer({ status: [status(["0008"], 3)], migrate: [LOCKED] }),
        "0008.sql made no progress in 75 minutes",
      ],
      [
        answer({ status: [{ ...status([]), digest: "d2" } as MigrationResponse], migrate: [] }),
        "notes-dev-Migrations has other migrations or grants than the project: nothing was run",
      ],
      [
        answer({
          status: [status(["3"])],
          migrate: [{ ok: false, message: "3.sql:12 failed", file: "3.sql", line: 12 }],
        }),
        "3.sql:12 failed",
      ],
    ] as const
  ) {
    await assertRejects(() => migrateInFunction(fn, createOptions().options), StepError, message);
  }
});

Deno.test("grantInFunction() fails with the statements that failed", async () => {
  const response = {
    ok: true,
    action: "grants",
    applied: 1,
    skipped: 2,
    errors: [],
    logins: 0,
  } as const;
  const request = { digest: DIGEST, variables: {} };
  const respond = (errors: string[]) => answer({ status: [], migrate: [{ ...response, errors }] });
  assertEquals(await grantInFunction(respond([]), request), "1 applied, 2 unchanged");
  await assertRejects(
    () => grantInFunction(respond(["a.sql:1: no"]), request),
    StepError,
    "a.sql:1",
  );
});

Deno.test("listFoundations() includes changes of the migration function, and nothing that serves", () => {
  const change = (address: string, type: string, ...actions: string[]) => ({
    address,
    type,
    actions,
  });
  const changes = [
    change("module.fn_migrations.aws_lambda_function.this", "aws_lambda_function", "update"),
    change("module.fn_migrations.aws_iam_role_policy.old", "aws_iam_role_policy", "delete"),
    change("module.fn_migrations_get.aws_lambda_function.this", "aws_lambda_function", "create"),
    change("module.fn_notes.aws_iam_role.this", "aws_iam_role", "create"),
    change("module.fn_notes.aws_lambda_function.this", "aws_lambda_function", "create"),
  ];
  const plan = { file: "p", changes, isEmpty: false };
  assertEquals(listFoundations(plan, "module.fn_migrations"), [
    "module.fn_migrations.aws_lambda_function.this",
    "module.fn_notes.aws_iam_role.this",
  ]);
  assertEquals(listFoundations(plan), ["module.fn_notes.aws_iam_role.this"]);
});
