import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { findFunctionFiles } from "../../cli/discovery/function_files.ts";
import { run } from "../emulator/emulator.ts";
import { freePort } from "../support/free_port.ts";

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

/** How each project is served. A build runs with Aurora DSQL, which the accounts example does not support. */
export const FORMS: Readonly<Record<Example, readonly Form[]>> = {
  notes: ["sources", "build"],
  booking: ["sources", "build"],
  accounts: ["sources"],
  shapes: ["sources", "build"],
};

/** Secrets of the examples. `trellis dev` finds these names in sources, and not in a build. */
const SECRETS = [
  "API_BEARER_TOKEN",
  "AUTH_SECRET",
  "CODE_HOST_WEBHOOK_SECRET",
  "PAYMENTS_WEBHOOK_SECRET",
];

/**
 * Starts a copy of a project, and runs a function with its address and with the token of an administrator. A build is
 * served with the local Aurora DSQL server, because it contains no embedded database.
 */
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
    const url = `http://localhost:${freePort()}`;
    const server = new Deno.Command(Deno.execPath(), {
      args: [
        ...[...TRELLIS, "dev", "--project", root, "--port", new URL(url).port, "--json"],
        ...form === "build" && hasDatabase ? ["--db", "distsql"] : [],
      ],
      env: {
        AUTH_BASE_URL: `${url}/auth`,
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
      await use(url, hasDatabase ? await signIn(url) : "");
    } finally {
      server.kill("SIGTERM");
      await drained;
      await server.status;
    }
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

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

async function signIn(url: string): Promise<string> {
  const response = await fetch(`${url}/auth/sign-up/email`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Origin: url },
    body: JSON.stringify({
      name: "Ada",
      email: "admin@example.com",
      password: "correct horse battery",
    }),
  });
  const { user } = await response.json();
  // accounts wants a verified address before it signs in
  const path = `/_trellis/api/accounts/${user.id}/sign-in`;
  return (await (await fetch(url + path, { method: "POST" })).json()).token;
}
