import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import type { Deployment } from "../../../cli/deploy/deployment.ts";
import { StepError } from "../../../cli/deploy/deployment.ts";
import { rollBackRelease, shiftRelease } from "../../../cli/deploy/release.ts";
import { type ReleaseServer, startReleaseServer } from "../../support/release_server.ts";
import { withEnv } from "../../support/with_env.ts";

/** A deployment whose Terraform has put version 8 of two functions. */
function createDeployment(release: unknown, options = {}): Deployment {
  return {
    context: { options, output: { note: () => {} } },
    stage: { name: "dev", backend: {}, variables: { region: "eu-central-1" } },
    prefix: "notes-dev",
    plan: {
      config: { infra: { release: { percent: 20, minutes: 1 } } },
      sources: { functions: [{ name: "NotesGet", definer: "defineApiHandler" }] },
    },
    terraform: { readOutputs: () => Promise.resolve({ release }) },
  } as unknown as Deployment;
}

const RELEASE = {
  alias: "live",
  alarm: "notes-dev-release",
  functions: {
    NotesGet: { name: "notes-dev-NotesGet", version: "8" },
    NotesPost: { name: "notes-dev-NotesPost", version: "8" },
  },
};

/** A deployment that keeps the lock of its stage. */
const keepLock = () => Promise.resolve();

/** A project without migrations. */
const begin = () => Promise.resolve(() => Promise.resolve());

async function withServer(
  use: (server: ReleaseServer, deployment: Deployment, waits: number[]) => Promise<void>,
): Promise<void> {
  const server = startReleaseServer();
  server.aliases.set("notes-dev-NotesGet", { FunctionVersion: "7" });
  server.aliases.set("notes-dev-NotesPost", { FunctionVersion: "8" });
  try {
    await withEnv({
      AWS_ENDPOINT_URL_LAMBDA: server.url,
      AWS_ENDPOINT_URL_CLOUDWATCH: server.url,
      AWS_ACCESS_KEY_ID: "local",
      AWS_SECRET_ACCESS_KEY: "local",
    }, () => use(server, createDeployment(RELEASE), []));
  } finally {
    await server.stop();
  }
}

Deno.test("shiftRelease() moves only changed functions, first a share and then all of their requests", async () => {
  await withServer(async ({ moves, aliases }, deployment, waits) => {
    const result = await shiftRelease(
      deployment,
      keepLock,
      (ms) => Promise.resolve(void waits.push(ms)),
    );
    assertEquals(result, { summary: "1 function released", moved: 1 });
    assertEquals(moves, ["notes-dev-NotesGet 7 8:0.2", "notes-dev-NotesGet 8"]);
    assertEquals(waits.reduce((sum, ms) => sum + ms, 0), 60_000);
    const { Description = "" } = aliases.get("notes-dev-NotesGet")!;
    assertMatch(Description, /^previous version 7, release \d{4}-\S+Z$/);
    assertEquals(await shiftRelease(deployment, keepLock), {
      summary: "all aliases have the newest version",
      moved: 0,
    });
  });
});

Deno.test("shiftRelease() moves all requests back when the alarm is raised", async () => {
  await withServer(async ({ moves, alarm }, deployment) => {
    alarm.push("OK", "ALARM");
    await assertRejects(
      () => shiftRelease(deployment, keepLock, () => Promise.resolve()),
      StepError,
      "all requests go to the previous versions again",
    );
    assertEquals(moves, ["notes-dev-NotesGet 7 8:0.2", "notes-dev-NotesGet 7"]);
  });
});

Deno.test("shiftRelease() moves nothing when a new version does not load, and names its error", async () => {
  await withServer(async ({ moves, versions }, deployment) => {
    versions.set("notes-dev-NotesGet:8", {
      error: { errorType: "TypeError", errorMessage: "settings.region is undefined" },
    });
    await assertRejects(
      () => shiftRelease(deployment, keepLock),
      StepError,
      "notes-dev-NotesGet: TypeError: settings.region is undefined\n",
    );
    assertEquals(moves, []);
  });
});

Deno.test("rollBackRelease() refuses versions that read secrets which the role no longer reads", async () => {
  await withServer(async ({ moves, versions }, deployment) => {
    const secret =
      "secretsmanager:arn:aws:secretsmanager:eu-central-1:123456789012:secret:notes-dev/DATABASE_URL";
    versions.set("notes-dev-NotesGet:7", { variables: { DATABASE_URL: secret, LEVEL: "info" } });
    versions.set("notes-dev-NotesGet:8", { variables: { DATABASE_URL: `${secret}/NotesGet` } });
    await shiftRelease(deployment, keepLock, () => Promise.resolve());
    moves.length = 0;
    await assertRejects(
      () => rollBackRelease(deployment, begin),
      StepError,
      "notes-dev-NotesGet (version 7): DATABASE_URL\nNothing was moved: deploy the commit before",
    );
    assertEquals(moves, []);
  });
});

Deno.test("rollBackRelease() goes back by one release only, however often it is called", async () => {
  await withServer(async ({ moves, aliases }, deployment) => {
    const Description = "previous version 5, release 2026-01-01T00:00:00.000Z";
    aliases.set("notes-dev-NotesPost", { FunctionVersion: "8", Description });
    await shiftRelease(deployment, keepLock, () => Promise.resolve());
    await rollBackRelease(deployment, begin);
    moves.length = 0;
    await assertRejects(
      () => rollBackRelease(deployment, begin),
      StepError,
      "the last release was rolled back already",
    );
    assertEquals(moves, []);
  });
});

for (const state of ["OK", "ALARM"]) {
  Deno.test(`shiftRelease() moves nothing more if another one has taken the lock (${state})`, async () => {
    await withServer(async ({ moves, alarm }, deployment) => {
      const checkLock = () => Promise.reject(new StepError("the lock was lost"));
      const wait = () => Promise.resolve(void (alarm[0] = state));
      await assertRejects(
        () => shiftRelease(deployment, checkLock, wait),
        StepError,
        "the lock was lost",
      );
      assertEquals(moves, ["notes-dev-NotesGet 7 8:0.2"]);
    });
  });
}

Deno.test("shiftRelease() moves nothing while the alarm is on", async () => {
  await withServer(async ({ moves, alarm }, deployment) => {
    alarm[0] = "ALARM";
    const { message } = await assertRejects(() => shiftRelease(deployment, keepLock), StepError);
    assertStringIncludes(message, "nothing was moved");
    assertStringIncludes(message, "trellis deploy --stage dev --rollback, or release a correction");
    assertEquals(moves, []);
  });
});

Deno.test("shiftRelease() with --allow-alarm releases to all requests at once while the alarm is on, if versions load", async () => {
  await withServer(async ({ moves, alarm, aliases, versions }) => {
    const deployment = createDeployment(RELEASE, { "allow-alarm": true });
    alarm[0] = "ALARM";
    versions.set("notes-dev-NotesGet:8", { error: { errorType: "Error", errorMessage: "x" } });
    await assertRejects(() => shiftRelease(deployment, keepLock), StepError, "nothing was moved");
    versions.clear();
    assertEquals((await shiftRelease(deployment, keepLock))!.moved, 1);
    assertEquals(moves, ["notes-dev-NotesGet 8"]);
    const { Description = "" } = aliases.get("notes-dev-NotesGet")!;
    assertMatch(Description, /^previous version 7, release \d{4}-\S+Z$/);
  });
});

Deno.test("rollBackRelease() goes back to the versions before the last release, once", async () => {
  await withServer(async ({ moves }, deployment) => {
    await shiftRelease(deployment, keepLock, () => Promise.resolve());
    moves.length = 0;
    assertEquals(
      await rollBackRelease(deployment, begin),
      "1 function has its previous version. The database is unchanged",
    );
    assertEquals(moves, ["notes-dev-NotesGet 7"]);
    await assertRejects(
      () => rollBackRelease(deployment, begin),
      StepError,
      "the last release was rolled back already",
    );
  });
});

Deno.test("rollBackRelease() keeps functions that the last release did not move", async () => {
  await withServer(async ({ moves, aliases }, deployment) => {
    const Description = "previous version 5, release 2026-01-01T00:00:00.000Z";
    aliases.set("notes-dev-NotesPost", { FunctionVersion: "8", Description });
    await shiftRelease(deployment, keepLock, () => Promise.resolve());
    moves.length = 0;
    await rollBackRelease(deployment, begin);
    assertEquals(moves, ["notes-dev-NotesGet 7"]);
    assertEquals(aliases.get("notes-dev-NotesPost")!.FunctionVersion, "8");
  });
});

Deno.test("rollBackRelease() goes back from a release that was interrupted and run again", async () => {
  await withServer(async ({ moves, aliases }, deployment) => {
    const startedAt = "2026-01-02T00:00:00.000Z";
    const Description = `previous version 7, release ${startedAt}`;
    aliases.set("notes-dev-NotesPost", { FunctionVersion: "8", Description });
    aliases.set("notes-dev-NotesGet", {
      FunctionVersion: "7",
      Description: `; release under way since ${startedAt}`,
      RoutingConfig: { AdditionalVersionWeights: { "8": 0.2 } },
    });
    await shiftRelease(deployment, keepLock, () => Promise.resolve());
    moves.length = 0;
    await rollBackRelease(deployment, begin);
    assertEquals(moves, ["notes-dev-NotesGet 7", "notes-dev-NotesPost 7"]);
  });
});

Deno.test("shiftRelease() moves all requests back when the alarm cannot be read any more", async () => {
  await withServer(async ({ moves, aliases }, deployment) => {
    const Description = "previous version 6, release 2026-01-01T00:00:00.000Z";
    aliases.set("notes-dev-NotesGet", { FunctionVersion: "7", Description });
    await assertRejects(
      () =>
        shiftRelease(deployment, keepLock, () => Promise.reject(new Error("the network is gone"))),
      StepError,
      "the network is gone: all requests go to the previous versions again",
    );
    assertEquals(moves, ["notes-dev-NotesGet 7 8:0.2", "notes-dev-NotesGet 7"]);
    // the release before this one can still be rolled back
    assertEquals(aliases.get("notes-dev-NotesGet")!.Description, Description);
    await rollBackRelease(deployment, begin);
    assertEquals(moves.at(-1), "notes-dev-NotesGet 6");
  });
});

Deno.test("rollBackRelease() ends a release that is under way", async () => {
  await withServer(async ({ moves, aliases }, deployment) => {
    const RoutingConfig = { AdditionalVersionWeights: { "8": 0.2 } };
    aliases.set("notes-dev-NotesGet", { FunctionVersion: "7", RoutingConfig });
    await rollBackRelease(deployment, begin);
    assertEquals(moves, ["notes-dev-NotesGet 7"]);
  });
});

Deno.test("a stage without aliases has nothing to shift, and cannot be rolled back", async () => {
  const deployment = createDeployment(undefined);
  assertEquals(await shiftRelease(deployment, keepLock), undefined);
  await assertRejects(() => rollBackRelease(deployment, begin), StepError, "set infra.release");
});
