import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../emulator/emulator.ts";
import { freePort } from "../support/free_port.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The examples whose documents other tools read. */
export const EXAMPLES = ["notes", "booking", "accounts"] as const;

/** Returns the path of an example's document. */
export function getDocument(name: string): string {
  return join(ROOT, "examples", name, "openapi.json");
}

/** Starts a copy of an example, and runs a function with its address and with the token of an administrator. */
export async function withExample(
  name: string,
  use: (url: string, token: string) => Promise<void>,
): Promise<void> {
  const example = join(ROOT, "examples", name);
  // inside of the repository, so that its import map applies
  await Deno.mkdir(join(example, ".trellis"), { recursive: true });
  const root = await Deno.makeTempDir({ dir: join(example, ".trellis") });
  await run("cp", [
    "-R",
    ...["src", "migrations", "trellis.config.ts"].map((part) => join(example, part)),
    root,
  ]);
  const url = `http://localhost:${freePort()}`;
  const args = ["dev", "--project", root, "--port", new URL(url).port, "--json"];
  const server = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", join(ROOT, "cli/main.ts"), ...args],
    env: { AUTH_BASE_URL: `${url}/auth` },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  try {
    // the result is printed when the server listens
    const output = server.stdout.getReader();
    await output.read();
    output.releaseLock();
    await use(url, await signIn(url));
  } finally {
    server.kill("SIGTERM");
    await server.stdout.cancel();
    await server.status;
    await Deno.remove(root, { recursive: true });
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
