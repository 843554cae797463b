import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "node:path";
import { type Deployment, StepError } from "../../../cli/deploy/deployment.ts";
import { withStageLock } from "../../../cli/deploy/stage_lock.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { withSteppedClock } from "../../support/step_clock.ts";
import { withEnv } from "../../support/with_env.ts";

const KEY = "/state/notes/dev.tfstate.deploy.lock";
const HOUR_MS = 3_600_000;

/** A bucket with conditional writes. `elapse` sets its clock ahead, and with it nobody else's. */
async function withBucket(
  use: (
    objects: Map<string, string>,
    deployment: Deployment,
    elapse: (ms: number) => void,
  ) => Promise<void>,
): Promise<void> {
  const objects = new Map<string, string>();
  const written = new Map<string, number>();
  let serverMs = Date.UTC(2026, 0, 1);
  const fail = (code: string, status: number) =>
    new Response(`<Error><Code>${code}</Code></Error>`, { status });
  // as Amazon S3 with KMS: equal texts have different tags
  const tagOf = (text: string) => `"${encodeURIComponent(text)}-${written.get(KEY)}"`;
  const toHttpDate = (ms: number) => new Date(ms).toUTCString();
  const http = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    const sent = await request.text();
    const present = objects.get(pathname);
    if (request.method === "GET") {
      if (present === undefined) return fail("NoSuchKey", 404);
      const headers = { etag: tagOf(present), date: toHttpDate(serverMs) };
      return new Response(present, {
        headers: { ...headers, "last-modified": toHttpDate(written.get(pathname)!) },
      });
    }
    if (request.method === "DELETE") {
      const tag = request.headers.get("if-match");
      if (tag !== null && (present === undefined || tag !== tagOf(present))) {
        return fail("PreconditionFailed", 412);
      }
      objects.delete(pathname);
      return new Response(null, { status: 204 });
    }
    const [match, none] = ["if-match", "if-none-match"].map((name) => request.headers.get(name));
    if (none === "*" && present !== undefined) return fail("PreconditionFailed", 412);
    if (match !== null && present === undefined) return fail("NoSuchKey", 404);
    if (match !== null && match !== tagOf(present!)) return fail("PreconditionFailed", 412);
    // the client sends the body in chunks with a checksum
    const [text] = /\{.*\}/.exec(sent) ?? [""];
    objects.set(pathname, text);
    written.set(pathname, serverMs += 1000);
    return new Response(null, { headers: { etag: tagOf(text) } });
  });
  try {
    await withEnv({
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${http.addr.port}`,
      AWS_ACCESS_KEY_ID: "local",
      AWS_SECRET_ACCESS_KEY: "local",
      AWS_EC2_METADATA_DISABLED: "true",
    }, () =>
      use(
        objects,
        createDeployment({ bucket: "state", region: "eu-central-1" }),
        (ms) => serverMs += ms,
      ));
  } finally {
    await http.shutdown();
  }
}

function createDeployment(state?: object, folder = "/nowhere"): Deployment {
  return {
    context: { output: { warn: () => {} }, options: {} },
    config: { infra: { state } },
    folder,
    prefix: "notes-dev",
    stage: { name: "dev", backend: { key: "notes/dev.tfstate" } },
  } as unknown as Deployment;
}

Deno.test("withStageLock() lets one of two deployments at once run, and then the other", async () => {
  await withBucket(async (objects, deployment) => {
    const order: string[] = [];
    const first = withStageLock(deployment, async ({ check }) => {
      order.push("first begins");
      await assertRejects(
        () => withStageLock(deployment, () => Promise.resolve(order.push("second"))),
        ConfigurationError,
        "is deploying notes-dev (since ",
      );
      await check();
      order.push("first ends");
    });
    await first;
    assertEquals(objects.size, 0);
    await withStageLock(deployment, () => Promise.resolve(order.push("second")));
    assertEquals(order, ["first begins", "first ends", "second"]);
  });
});

Deno.test("withStageLock() takes the lock of a process that died, and the dead one stops when it comes back", async () => {
  await withBucket(async (objects, deployment, elapse) => {
    await withStageLock(deployment, async ({ check }) => {
      elapse(14 * 60_000);
      await assertRejects(
        () => withStageLock(deployment, () => Promise.resolve()),
        ConfigurationError,
        "expires after 15 minutes; --unlock takes it at once",
      );
      elapse(2 * 60_000);
      await withStageLock(deployment, async () => {
        assert(objects.has(KEY));
        await Promise.resolve();
      });
      await assertRejects(check, StepError, "the lock of notes-dev was lost");
    });
  });
});

Deno.test("withStageLock() lets one of two deployments take over a dead lock at once, and names it to the other", async () => {
  await withBucket(async (objects, deployment, elapse) => {
    for (let round = 0; round < 20; round++) {
      await withStageLock(deployment, async () => {
        const readLock = () => JSON.parse(objects.get(KEY)!).startedAt as string;
        const dead = readLock();
        elapse(16 * 60_000);
        const taken: string[] = [];
        const over = Promise.withResolvers<void>();
        const take = () =>
          withStageLock(deployment, async ({ check }) => {
            taken.push(readLock());
            await over.promise;
            await check();
          });
        const refusals = [take(), take()].map((each) => each.catch((error) => error as Error));
        const refused = await Promise.race(refusals);
        over.resolve();
        const others = (await Promise.all(refusals)).filter((it) => it !== refused);
        assertEquals([taken.length, others], [1, [undefined]]);
        assertInstanceOf(refused, ConfigurationError);
        assertStringIncludes(refused.message, `is deploying notes-dev (since ${taken[0]})`);
        assertEquals(objects.size, 0);
        assertNotEquals(taken[0], dead);
      });
    }
  });
});

Deno.test("withStageLock() takes a lock at once with --unlock, and the other deployment goes no further", async () => {
  await withBucket(async (objects, deployment) => {
    await withStageLock(deployment, async ({ check }) => {
      const context = { ...deployment.context, options: { unlock: true } };
      await withStageLock({ ...deployment, context }, async ({ check }) => await check());
      assertEquals(objects.size, 0);
      await assertRejects(check, StepError, "the lock of notes-dev was lost");
    });
  });
});

Deno.test("withStageLock() keeps the lock while the clock of a machine is an hour off", async () => {
  for (const ownMs of [-HOUR_MS, 0, HOUR_MS]) {
    await withBucket(async (objects, deployment, elapse) => {
      await withSteppedClock(async (setMs) => {
        setMs(ownMs);
        await withStageLock(deployment, async ({ check }) => {
          for (const otherMs of [-HOUR_MS, 0, HOUR_MS]) {
            setMs(otherMs);
            await assertRejects(
              () => withStageLock(deployment, () => Promise.resolve()),
              ConfigurationError,
            );
            elapse(10 * 60_000);
            // renews the lock
            await check();
          }
        });
        assertEquals(objects.size, 0);
      });
    });
  }
});

Deno.test("withStageLock() knows its own lock when the answer to its renewal was lost", async () => {
  await withBucket(async (objects, deployment) => {
    await withStageLock(deployment, async ({ check }) => {
      objects.set(KEY, `${objects.get(KEY)} `);
      await check();
    });
    assertEquals(objects.size, 0);
  });
});

Deno.test("withStageLock() leaves the lock of the deployment that has taken it over", async () => {
  await withBucket(async (objects, deployment) => {
    const successor = `{"id":"successor","owner":"ben@laptop"}`;
    await withStageLock(deployment, () => Promise.resolve(objects.set(KEY, successor)));
    assertEquals(objects.get(KEY), successor);
  });
});

Deno.test("withStageLock() interrupts Terraform, releases the lock and deletes the plan when a signal ends the process", async () => {
  await withBucket(async (objects) => {
    const folder = await Deno.makeTempDir();
    const planFile = join(folder, ".terraform/stages/dev.tfplan");
    const program = join(folder, "fake-terraform");
    await Deno.mkdir(join(folder, ".terraform/stages"), { recursive: true });
    await Deno.writeTextFile(
      program,
      `#!/bin/sh
touch "${planFile}"
[ "$1" = apply ] || exit 0
trap 'touch stored; exit 1' INT
echo begun
while :; do sleep 0.05; done
`,
      { mode: 0o755 },
    );
    const at = (path: string) =>
      JSON.stringify(new URL(`../../../cli/${path}`, import.meta.url).href);
    const code = `
      import { withStageLock } from ${at("deploy/stage_lock.ts")};
      import { openTerraform } from ${at("deploy/terraform.ts")};
      process.once("SIGINT", () => process.exit(130));
      const stage = { name: "dev", backend: { key: "notes/dev.tfstate" }, variables: {} };
      const [folder, program] = ${JSON.stringify([folder, program])};
      const config = { infra: { state: { bucket: "state", region: "eu-central-1" } } };
      const onProgress = () => console.log("begun");
      const terraform = await openTerraform({ folder, stage, program, onProgress });
      const context = { options: {}, output: { note() {} } };
      await withStageLock({ context, config, folder, prefix: "notes-dev", stage, terraform }, async () => {
        await terraform.apply(await terraform.plan()).catch(() => {});
        await new Promise(() => setTimeout(() => {}, 60_000));
      });
    `;
    const child = new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-check", `import process from "node:process";${code}`],
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const reader = child.stdout.getReader();
    await reader.read();
    assert(objects.has(KEY));
    assert((await Deno.stat(planFile)).isFile);
    child.kill("SIGINT");
    assertEquals((await child.status).code, 130);
    await reader.cancel();
    assertEquals(objects.size, 0);
    assert((await Deno.stat(join(folder, "stored"))).isFile);
    await assertRejects(() => Deno.stat(planFile), Deno.errors.NotFound);
    await Deno.remove(folder, { recursive: true });
  });
});

Deno.test("withStageLock() uses a file where the state is a file", async () => {
  const folder = await Deno.makeTempDir();
  const other = new Deno.Command(Deno.execPath(), {
    args: ["eval", "await new Promise((resolve) => setTimeout(resolve, 60_000))"],
  }).spawn();
  try {
    const file = join(folder, ".terraform/stages/dev.deploy.lock");
    const deployment = createDeployment(undefined, folder);
    await withStageLock(deployment, async () => assert((await Deno.stat(file)).isFile));
    await assertRejects(() => Deno.stat(file), Deno.errors.NotFound);
    await Deno.writeTextFile(file, String(other.pid));
    await assertRejects(
      () => withStageLock(deployment, () => Promise.resolve()),
      ConfigurationError,
      `Another deployment of notes-dev is running (process ${other.pid})`,
    );
  } finally {
    other.kill("SIGKILL");
    await other.status;
    await Deno.remove(folder, { recursive: true });
  }
});
