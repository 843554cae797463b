import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { findFunctionFiles } from "../../cli/discovery/function_files.ts";
import { closeDrizzleClient } from "../../database/providers/client.ts";
import { runMigrations } from "../../database/migrations/run.ts";
import { run } from "../emulator/emulator.ts";
import { freePort } from "../support/free_port.ts";
import { getDirectConfig, startPostgres } from "../support/postgres.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The projects whose documents other tools read. `shapes` has what the documents of the examples lack: files, headers, unions. */
export const EXAMPLES = ["notes", "booking", "accounts", "shapes"] as const;
type Example = typeof EXAMPLES[number];

/** Returns the folder of a project. */
export function getFolder(name: Example): string {
  return name === "shapes" ? join(import.meta.dirname!, name) : join(ROOT, "examples", name);
}

/** Returns the path of a project's document. That of `shapes` is generated. */
export async function getDocument(name: Example): Promise<string> {
  const folder = getFolder(name);
  if (name !== "shapes") return join(folder, "openapi.json");
  await run(Deno.execPath(), [...TRELLIS, "generate", "openapi", "--project", folder]);
  return join(folder, ".trellis/openapi.json");
}

/** What answers requests: the sources of the functions, or what `trellis build` makes of them. */
export type Form = "sources" | "build";

export const FORMS: readonly Form[] = ["sources", "build"];

/** Secrets of the examples. `trellis dev` finds these names in sources, and not in a build. */
const SECRETS = [
  "API_BEARER_TOKEN",
  "AUTH_SECRET",
  "CODE_HOST_WEBHOOK_SECRET",
  "PAYMENTS_WEBHOOK_SECRET",
];

/** Opens the database of a build, which contains no embedded one. The accounts example does not support Aurora DSQL. */
async function openDatabase(name: Example, root: string): Promise<BuildDatabase> {
  if (name !== "accounts") return { args: ["--db", "distsql"], env: {}, stop: async () => {} };
  const postgres = await startPostgres();
  const url = await postgres.createDatabase(name);
  const database = getDirectConfig(url);
  await runMigrations({ migrationsFolder: join(root, "migrations"), database });
  await closeDrizzleClient(database);
  const env = { DATABASE_PROVIDER: database.provider, DATABASE_URL: url };
  return { args: [], env, stop: postgres.stop };
}

interface BuildDatabase {
  /** Arguments of `trellis dev`. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly stop: () => Promise<void>;
}

/** Starts a copy of a project, and runs a function with its address and with the token of an administrator. */
export async function withExample(
  name: Example,
  use: (url: string, token: string) => Promise<void>,
  form: Form = "sources",
): Promise<void> {
  const example = getFolder(name);
  // inside of the repository, so that its import map applies
  await Deno.mkdir(join(example, ".trellis"), { recursive: true });
  const root = await Deno.makeTempDir({ dir: join(example, ".trellis") });
  try {
    await run("cp", [
      "-R",
      ...["src", "migrations", "trellis.config.ts"].map((part) => join(example, part))
        .filter(existsSync),
      root,
    ]);
    if (form === "build") await useBuild(root);
    const hasDatabase = existsSync(join(root, "migrations"));
    const database = form === "build" && hasDatabase ? await openDatabase(name, root) : undefined;
    const url = `http://localhost:${freePort()}`;
    const server = new Deno.Command(Deno.execPath(), {
      args: [
        ...[...TRELLIS, "dev", "--project", root, "--port", new URL(url).port, "--json"],
        ...database?.args ?? [],
      ],
      env: {
        AUTH_BASE_URL: `${url}/auth`,
        ...database?.env,
        ...Object.fromEntries(SECRETS.map((name) => [name, crypto.randomUUID()])),
      },
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    let drained: Promise<void> | undefined;
    try {
      // the result is printed when the server listens
      const output = server.stdout.getReader();
      await output.read();
      output.releaseLock();
      // functions of a build write their log lines to it, and would wait for a reader
      drained = server.stdout.pipeTo(new WritableStream());
      await use(url, hasDatabase ? (await signUp(url, "admin@example.com")).token : "");
    } finally {
      server.kill("SIGTERM");
      // the server waits for the connections of a build, which has its own copy of the client
      await database?.stop();
      await drained;
      await server.status;
    }
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** The password of all users. */
export const PASSWORD = "correct horse battery";

export const TRELLIS = ["run", "-A", join(ROOT, "cli/main.ts")];

/** Builds a project, and replaces the source of each function by what was built. */
async function useBuild(root: string): Promise<void> {
  await run(Deno.execPath(), [...TRELLIS, "build", "--project", root]);
  for (const { name, file } of findFunctionFiles(join(root, "src/functions"))) {
    const built = pathToFileURL(join(root, "dist", name, "index.mjs"));
    // an import that trellis dev does not bundle
    const text = `export const { handler } = await import(new URL("${built}").href);\n`;
    await Deno.writeTextFile(file, text);
  }
}

/** Signs a user up, and returns the credentials of a session. */
export async function signUp(
  url: string,
  email: string,
): Promise<{ readonly token: string; readonly cookie: string }> {
  let response = await fetch(`${url}/auth/sign-up/email`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Origin: url },
    body: JSON.stringify({ name: "Ada", email, password: PASSWORD }),
  });
  const { token } = await response.json();
  if (token !== null) return { token, cookie: getSessionCookie(response) };
  // accounts wants a verified address before it signs in
  response = await fetch(await waitForLink(url, email), { redirect: "manual" });
  await response.body?.cancel();
  const cookie = getSessionCookie(response);
  const { session } = await (await fetch(`${url}/auth/get-session`, { headers: { cookie } }))
    .json();
  return { token: session.token, cookie };
}

function getSessionCookie(response: Response): string {
  const [cookie] = response.headers.getSetCookie().filter((each) => each.includes("session_token"));
  return cookie.split(";")[0];
}

/** Returns the first link of the first mail to an address. */
async function waitForLink(url: string, email: string): Promise<string> {
  for (let attempt = 0; attempt < 300; attempt++) {
    const { mails } = await (await fetch(`${url}/_trellis/api/state`)).json();
    const mail = mails.find(({ to }: { to: string }) => to === email);
    if (mail !== undefined) return mail.links[0];
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`No mail to ${email}`);
}
