// deno-lint-ignore-file no-console
/**
 * A project from its first deployment to its end, on an emulator of AWS that others wrote: real
 * requests of the AWS clients, checks of IAM policies, TLS and PostgreSQL. Everything runs from the
 * packed npm package, as a user has it.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRandom } from "../support/random.ts";
import { startPostgres } from "../support/postgres.ts";
import { SERVER_USER } from "../support/postgres_files.ts";
import { testSeed } from "../support/seed.ts";
import { hasOffline } from "../support/terraform_providers.ts";
import { writeFiles } from "../support/temp_folder.ts";
import { type Emulator, hasPython, startEmulator } from "./emulator.ts";
import { listProjectFiles, renderHealth } from "./project.ts";

const HEALTH = "src/functions/api/health.get.ts";
const HERE = fileURLToPath(new URL(".", import.meta.url));
const BUILT = Deno.env.get("TRELLIS_NPM_PACKAGE") ??
  fileURLToPath(new URL("../../npm", import.meta.url));

const missing = [
  ...await hasPython() ? [] : ["Python 3 with venv"],
  ...hasOffline ? [] : ["terraform or its stand-in providers"],
  ...existsSync(join(BUILT, "package.json")) ? [] : ["the npm package (deno task build:npm)"],
];
const mustRun = Deno.env.get("CI") === "true" && hasOffline;
if (missing.length > 0) {
  console.warn(
    `SKIPPED: ${missing.join(", ")} is missing. Not run: the suite on an emulator of AWS.`,
  );
}

/** What a program printed, and how it ended. */
interface Outcome {
  readonly code: number;
  /** Standard output and standard error. */
  readonly text: string;
}

async function run(
  program: string,
  args: readonly string[],
  options: { cwd: string; env: Readonly<Record<string, string>>; input?: string },
): Promise<Outcome> {
  const child = new Deno.Command(program, {
    args: [...args],
    cwd: options.cwd,
    env: { ...options.env, NO_COLOR: "1" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(options.input ?? "")).catch(() => {});
  await writer.close().catch(() => {});
  const { code, stdout, stderr } = await child.output();
  const [printed, noted] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, text: `${printed}${noted}` };
}

/** Makes the project of a user: `trellis init`, its packages, and what is generated. */
async function createProject(root: string, env: Readonly<Record<string, string>>): Promise<void> {
  const main = join(BUILT, "cli/main.js");
  const need = async (program: string, args: readonly string[], cwd: string) => {
    const { code, text } = await run(program, args, { cwd, env });
    assertEquals(code, 0, `${program} ${args.join(" ")}\n${text}`);
    return text;
  };
  await need("node", [main, "init", root, "--template", "api", "--runtime", "node"], dirname(root));
  const packed = await need("npm", ["pack", BUILT, "--silent"], root);
  const manifest = JSON.parse(await Deno.readTextFile(join(root, "package.json")));
  manifest.dependencies["@trellis/fn"] = `file:./${packed.trim().split("\n").at(-1)}`;
  const { imports } = JSON.parse(await Deno.readTextFile(join(HERE, "../../deno.json")));
  const clients = ["cloudwatch", "lambda", "secrets-manager", "sqs"];
  for (const name of ["fflate", ...clients.map((client) => `@aws-sdk/client-${client}`)]) {
    manifest.devDependencies[name] = imports[name].split("@").at(-1);
  }
  await writeFiles(root, { "package.json": JSON.stringify(manifest), ...listProjectFiles() });
  await need("npm", ["install", "--silent", "--no-audit", "--no-fund", "--prefer-offline"], root);
  for (const what of ["permissions", "infra", "openapi"]) {
    await need("npx", ["trellis", "generate", what], root);
  }
}

/** A process of `trellis dev --stage dev`. */
interface Session {
  /** Settles when the functions are replaced, or when the process has ended. */
  readonly started: Promise<void>;
  readonly ended: Promise<unknown>;
  text(): string;
  /** Sends a signal. Returns the exit code. */
  stop(signal: Deno.Signal): Promise<number>;
}

function startSession(root: string, env: Readonly<Record<string, string>>): Session {
  const main = join(root, "node_modules/@trellis/fn/cli/main.js");
  const child = new Deno.Command("node", {
    args: [main, "dev", "--stage", "dev"],
    cwd: root,
    env: { ...env, NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const started = Promise.withResolvers<void>();
  let text = "";
  const read = [child.stdout, child.stderr].map(async (stream) => {
    for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes("Press Ctrl-C")) started.resolve();
    }
  });
  const ended = Promise.all([...read, child.status]);
  ended.then(() => started.resolve());
  return {
    started: started.promise,
    ended,
    text: () => text,
    async stop(signal): Promise<number> {
      try {
        child.kill(signal);
      } catch {
        // it has ended
      }
      await ended;
      return (await child.status).code;
    },
  };
}

/** Asks until an answer is right, because triggers deliver in their own time. */
async function until<T>(ask: () => Promise<T>, isRight: (answer: T) => boolean): Promise<T> {
  for (let attempt = 1;; attempt++) {
    const answer = await ask();
    if (isRight(answer) || attempt === 200) return answer;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

Deno.test({
  name: "a project deploys, answers, changes, goes back and ends on an emulator of AWS",
  ignore: missing.length > 0 && !mustRun,
  fn: async (t) => {
    assertEquals(missing, []);
    const work = await Deno.realPath(await Deno.makeTempDir({ prefix: "trellis-emulator-" }));
    const root = join(work, "app");
    const seconds: string[] = [];
    let emulator: Emulator | undefined;
    const postgres = await startPostgres({ settings: [`hba_file=${await writeRules(work)}`] });
    try {
      emulator = await startEmulator(work);
      const otherUrl = await postgres.createDatabase("other");
      await tour(t, { emulator, root, seconds, databaseUrl: postgres.url, otherUrl });
    } finally {
      await emulator?.stop();
      await postgres.stop();
      await Deno.remove(work, { recursive: true });
      console.log(`seconds: ${seconds.join(", ")}`);
    }
  },
});

/** Writes the rules of a server that checks the password of everyone but its owner. */
async function writeRules(work: string): Promise<string> {
  const file = join(work, "hba.conf");
  await Deno.chmod(work, 0o755);
  await Deno.writeTextFile(
    file,
    "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n",
  );
  if (SERVER_USER.uid !== undefined) await Deno.chown(file, SERVER_USER.uid, SERVER_USER.gid!);
  return file;
}

/** `TRELLIS_FULL_TESTS=1` kills sessions of `trellis dev --stage` at more moments. */
const KILLS = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 20 : 3;
/** Lines of the emulator's log that are printed after a failure. */
const MAX_LINES = 60;

interface Tour {
  readonly emulator: Emulator;
  readonly root: string;
  /** Step and its time, for the summary. */
  readonly seconds: string[];
  readonly databaseUrl: string;
  /** Another database of the same server. */
  readonly otherUrl: string;
}

async function tour(
  t: Deno.TestContext,
  { emulator, root, seconds, databaseUrl, otherUrl }: Tour,
): Promise<void> {
  const env = { ...emulator.env, DATABASE_URL: databaseUrl };
  const trellis = (line: string, input?: string) =>
    run("npx", ["trellis", ...line.split(" ")], { cwd: root, env, input });
  let hasFailed = false;
  // a step builds on those before
  const step = async (name: string, fn: () => Promise<void>) => {
    if (hasFailed) return;
    const startedAt = performance.now();
    hasFailed = !await t.step(name, fn);
    if (hasFailed) console.log((await emulator.readLog()).split("\n").slice(-MAX_LINES).join("\n"));
    seconds.push(`${name} ${((performance.now() - startedAt) / 1000).toFixed(1)}`);
  };
  let api = "";
  const get = async <T>(path: string): Promise<T> =>
    await (await emulator.request(`${api}${path}`)).json();
  const listTitles = async () =>
    (await get<{ notes: { title: string }[] }>("/notes?limit=100")).notes.map(({ title }) => title);

  await step("init and install", () => createProject(root, env));

  await step("a deployment stops at the address that nobody has put", async () => {
    const { code, text } = await trellis("deploy --stage dev --yes --generate-secrets");
    assertEquals(code, 1, text);
    assertStringIncludes(text, "trellis secrets set DATABASE_URL --stage dev < file");
    assertStringIncludes(text, "Not run: migrations, grants, apply, release, smoke.");
    const put = await trellis("secrets set DATABASE_URL --stage dev", otherUrl);
    assertEquals(put.code, 0, put.text);
  });

  await step(
    "a deployment refuses to migrate another database than the functions use",
    async () => {
      const { code, text } = await trellis("deploy --stage dev --yes");
      assertEquals(code, 1, text);
      assertStringIncludes(
        text,
        "failed migrations: DATABASE_URL of this shell is another database",
      );
      assertEquals((await trellis("secrets set DATABASE_URL --stage dev", databaseUrl)).code, 0);
    },
  );

  await step("the next deployment goes on to its end", async () => {
    const { code, text } = await trellis("deploy --stage dev --yes");
    assertEquals(code, 0, text);
    assertMatch(
      text,
      /; 8 logins \(8 new, 0 unchanged\): each has signed in with its privileges\n/,
    );
    assertMatch(text, /done smoke: GET https:\/\/\S+\/live\/health: 200/);
    [, api] = /API: (\S+)/.exec(text)!;
  });

  await step("every trigger reaches its function, with its role and its grants", async () => {
    const posted = await emulator.request(`${api}/notes`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ title: "posted" }),
    });
    assertEquals(posted.status, 201, await posted.text());
    const script = join(HERE, "send_messages.mjs");
    const sent = await run("node", [script, emulator.clients], { cwd: root, env });
    assertEquals(sent.code, 0, sent.text);
    const expected = ["happened", "posted", "queued", "summer 2026/a+b ü.txt", "told"];
    const isThere = (titles: string[]) => expected.every((title) => titles.includes(title));
    assert(isThere(await until(listTitles, isThere)));
  });

  await step("calls of the stage run here, with the role of their function", async () => {
    const session = startSession(root, env);
    await session.started;
    assertStringIncludes(session.text(), "app-dev is answered by this machine: ");
    for (const release of ["local", "edited"]) {
      await Deno.writeTextFile(join(root, HEALTH), renderHealth(release));
      assertEquals(await get("/health"), { release });
    }
    const posted = await emulator.request(`${api}/notes`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ title: "posted here" }),
    });
    assertEquals(posted.status, 201, await posted.text());
    assertStringIncludes(session.text(), "201  POST /notes");
    assertEquals(await session.stop("SIGTERM"), 0, session.text());
    assertEquals(await get("/health"), { release: "first" });
  });

  await step("a session that is killed at any moment leaves a stage that works", async () => {
    const random = createRandom(testSeed);
    for (let kill = 1; kill <= KILLS; kill++) {
      const session = startSession(root, env);
      // from the first request to some calls
      const ms = random.below(9_000);
      await Promise.race([session.ended, new Promise((resolve) => setTimeout(resolve, ms))]);
      await session.stop("SIGKILL");
      assertEquals(await get("/health"), { release: "first" }, `killed after ${ms} ms`);
    }
    const last = startSession(root, env);
    await last.started;
    assertEquals(await get("/health"), { release: "edited" }, last.text());
    assertEquals(await last.stop("SIGTERM"), 0, last.text());
    assertEquals(await get("/health"), { release: "first" });
    await Deno.writeTextFile(join(root, HEALTH), renderHealth("first"));
  });

  await step("a second plan is empty", async () => {
    const { code, text } = await trellis("deploy --stage dev --plan");
    assertEquals(code, 0, text);
    assertStringIncludes(text, "done plan: no changes");
  });

  await step("a change is released, while another deployment is refused", async () => {
    await Deno.writeTextFile(join(root, HEALTH), renderHealth("second"));
    const deploying = trellis("deploy --stage dev --yes");
    const lock = join(root, "infra/.terraform/stages/dev.deploy.lock");
    await until(() => Promise.resolve(existsSync(lock)), Boolean);
    const refused = await trellis("deploy --stage dev --rollback");
    assertEquals(refused.code, 3, refused.text);
    assertStringIncludes(refused.text, "Another deployment of app-dev is running (process ");
    assertEquals(/\n\s+at /.test(refused.text), false, refused.text);
    const { code, text } = await deploying;
    assertEquals(code, 0, text);
    assertStringIncludes(text, "done release: 1 function released");
    assertEquals(await get("/health"), { release: "second" });
  });

  await step("the schedule has run", async () => {
    const isTick = (titles: string[]) => titles.some((title) => /^tick 20\d\d-/.test(title));
    assert(isTick(await until(listTitles, isTick)));
  });

  await step("functions get other passwords while requests are answered", async () => {
    const { code, text } = await trellis("db rotate --stage dev");
    assertEquals(code, 0, text);
    assertStringIncludes(text, "; 8 logins (8 new, 0 unchanged): each has signed in");
    assertEquals((await listTitles()).includes("posted"), true);
  });

  await step("a rollback brings the version before back", async () => {
    const { code, text } = await trellis("deploy --stage dev --rollback");
    assertEquals(code, 0, text);
    assertEquals(await get("/health"), { release: "first" });
  });

  await step("no request was denied", async () => {
    const denied = (await emulator.readLog()).split("\n").filter((line) =>
      /AccessDenied|not authorized to perform/.test(line)
    );
    assertEquals(denied, []);
  });

  await step("destroy leaves nothing", async () => {
    const { code, text } = await trellis("destroy --stage dev --confirm dev");
    assertEquals(code, 0, text);
    const state = JSON.parse(await Deno.readTextFile(join(root, "infra/states/dev.tfstate")));
    assertEquals(state.resources, []);
  });
  assert(!hasFailed);
}
