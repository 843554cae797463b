// deno-lint-ignore-file no-console
/**
 * What the switches cost: the notes application with one feature after the other, beside itself without them. Prints the
 * size of the function, the round trips of a warm request, and the processor time of one. `bench/apps.ts switches` runs
 * it in the harness.
 */
import { execFileSync, fork } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { AUTH_MIGRATION_SQL } from "@trellis/fn/auth";
import { RATE_LIMIT_MIGRATION_SQL } from "@trellis/fn/database";
import { IDEMPOTENCY_MIGRATION_SQL } from "@trellis/fn/idempotency";
import { JOBS_MIGRATION_SQL } from "@trellis/fn/jobs";
import peer from "./peer.mjs";
import { EVENTS_SQL, KEYS_SQL, ORGANIZATIONS_SQL, VARIANTS } from "./switch_variants.mjs";

/** A module of the harness, into which this folder is copied. */
const inHarness = (path) => new URL(path, import.meta.url).href;
const { countRoundTrips, startPostgres } = await import(inHarness("../../lib/pg.mjs"));
const { prepare } = await import(inHarness("../lib/database.mjs"));
const { LAMBDA_ENV, lambdaContext, signUpEvent } = await import(inHarness("../lib/events.mjs"));

const NOTES = fileURLToPath(new URL("notes/", import.meta.url));
const CLI = fileURLToPath(new URL("../node_modules/@trellis/fn/cli/main.js", import.meta.url));
const ROUNDS = process.argv[2] === "--quick" ? 3 : Number(process.argv[2] ?? 9);
const LABEL = "0190d3a0-0000-4000-8000-000000000001";
const KEY = "switches-key";
/** Sign-in and sign-up take most of their time for the hash of the password. */
const isFast = (kind) => kind === "create" || kind === "list";
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

function build({ changes, added = {}, built }, folder) {
  cpSync(NOTES, folder, { recursive: true });
  for (const [file, pairs] of Object.entries(changes)) {
    let text = readFileSync(`${folder}/${file}`, "utf8");
    for (const [from, to] of pairs) {
      if (!text.includes(from)) throw new Error(`${file} has no ${from}`);
      text = text.replace(from, to);
    }
    writeFileSync(`${folder}/${file}`, text);
  }
  for (const [file, text] of Object.entries(added)) writeFileSync(`${folder}/${file}`, text);
  execFileSync(process.execPath, [CLI, "build", "--project", folder], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return `${folder}/dist/${built}/index.mjs`;
}

async function migrate(url, applicationSql) {
  const client = postgres(url, { max: 1, onnotice() {} });
  const all = [
    AUTH_MIGRATION_SQL,
    RATE_LIMIT_MIGRATION_SQL,
    JOBS_MIGRATION_SQL,
    IDEMPOTENCY_MIGRATION_SQL,
    EVENTS_SQL,
    ORGANIZATIONS_SQL,
    KEYS_SQL,
    applicationSql,
  ];
  for (const text of all) {
    for (const statement of text.split("--> statement-breakpoint")) await client.unsafe(statement);
  }
  await client.end();
}

/** Starts a process with a variant, and warms it up. */
async function open({ file, kind, answer = "" }, url, user) {
  const env = {
    PATH: process.env.PATH,
    ...LAMBDA_ENV,
    DATABASE_URL: url,
    POOL_SIZE: "1",
    ...peer.variables,
  };
  const worker = fileURLToPath(new URL("switch_worker.mjs", import.meta.url));
  const child = fork(worker, [file], { env, stdio: ["ignore", "ignore", "inherit", "ipc"] });
  async function run(calls) {
    child.send({ kind, calls, answer, label: LABEL, ...user });
    const [{ error, cpu }] = await once(child, "message");
    if (error !== undefined) throw new Error(error);
    return cpu;
  }
  await run(isFast(kind) ? 50 : 3);
  return { run, stop: () => child.disconnect() };
}

const server = await startPostgres();
const folders = [];
try {
  await prepare(server.url(), server.url("switches"), "switches", { ...peer, migrate });
  for (const variant of VARIANTS) {
    // beside the harness's packages
    const folder = mkdtempSync(fileURLToPath(new URL("switch-", import.meta.url)));
    folders.push(folder);
    variant.file = build(variant, folder);
    variant.kilobytes = statSync(variant.file).size / 1000;
  }
  const user = await signUp(VARIANTS.find(({ kind }) => kind === "signUp").file);
  const proxy = await countRoundTrips(server.port);
  for (const variant of VARIANTS) {
    const counted = await open(variant, proxy.url("switches"), user);
    const before = proxy.count();
    await counted.run(1);
    variant.trips = proxy.count() - before;
    counted.stop();
    variant.process = await open(variant, server.url("switches"), user);
    variant.cpu = [];
  }
  await proxy.stop();
  for (let round = 0; round < ROUNDS; round++) {
    for (const variant of VARIANTS) {
      variant.cpu.push(await variant.process.run(isFast(variant.kind) ? 100 : 3));
    }
  }
  console.log(`Node ${process.versions.node}, load ${loadavg()[0].toFixed(1)}, ${ROUNDS} rounds\n`);
  console.log("| request | KB | round trips | processor time |\n| --- | ---: | ---: | ---: |");
  for (const { name, kilobytes, trips, cpu, kind } of VARIANTS) {
    const base = VARIANTS.find((each) => each.kind === kind);
    const ratio = median(cpu.map((time, round) => time / base.cpu[round]));
    console.log(`| ${name} | ${kilobytes.toFixed(0)} | ${trips} | ${ratio.toFixed(2)} × |`);
  }
  for (const variant of VARIANTS) variant.process.stop();
} finally {
  await server.stop();
  for (const folder of folders) rmSync(folder, { recursive: true });
}

/** Creates a user with a label, a note, an API key and an organization, who sends the requests. */
async function signUp(file) {
  Object.assign(process.env, LAMBDA_ENV, peer.variables, {
    DATABASE_URL: server.url("switches"),
    POOL_SIZE: "1",
    LOG_LEVEL: "SILENT",
    METRICS_DISABLED: "true",
  });
  const { handler } = await import(file);
  const email = "switches@example.com";
  const { body } = await handler(signUpEvent(email), lambdaContext());
  const { token, user } = JSON.parse(body);
  const client = postgres(server.url("switches"), { max: 1 });
  await client`insert into labels (id, user_id, name) values (${LABEL}, ${user.id}, 'Label')`;
  await client`insert into notes (user_id, label_id, title, body, color, priority, pinned, tags)
    select ${user.id}, ${LABEL}, 'A note', 'Its text', 'white', 1, false, '{}' from generate_series(1, 30)`;
  const hash = createHash("sha256").update(KEY).digest("base64url");
  await client`insert into api_keys
    (id, name, key, config_id, reference_id, request_count, enabled, created_at, updated_at)
    values ('1', 'bench', ${hash}, 'default', ${user.id}, 0, true, now(), now())`;
  await client`insert into organizations (id, name, slug) values (${LABEL}, 'Org', 'org')`;
  await client`insert into members (organization_id, user_id, role)
    values (${LABEL}, ${user.id}, 'owner')`;
  await client`update sessions set active_organization_id = ${LABEL} where user_id = ${user.id}`;
  await client.end();
  return { email, token, key: KEY };
}
// the connection of the process that signed up stays open
process.exit(0);
