import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { CACHE, ROOT } from "./support/package.ts";
import { pickPackages } from "./support/pick_packages.ts";
import { runOrThrow, runProgram } from "../../scripts/program.ts";
import { freePort } from "../support/free_port.ts";

const EXAMPLE = join(ROOT, "examples", "notes-node");
const { dependencies, devDependencies } = JSON.parse(
  await Deno.readTextFile(join(EXAMPLE, "package.json")),
);
const others = Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) =>
  name !== "@trellis/fn"
);
const installed = await pickPackages(others.map(([name, version]) => `${name}@${version}`));

async function copy(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for (const { name, isDirectory } of [...Deno.readDirSync(from)]) {
    if (["node_modules", "dist", ".data"].includes(name)) continue;
    if (isDirectory) await copy(join(from, name), join(to, name));
    else await Deno.copyFile(join(from, name), join(to, name));
  }
}

/** A copy of the example, whose packages are in the folder above. */
async function withExample(fn: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ dir: installed.folder, prefix: "notes-node-" });
  try {
    await copy(EXAMPLE, folder);
    await fn(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("examples/notes-node pins the versions that the package is tested with", async () => {
  const { imports } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  for (const [name, version] of others) {
    const tested = /@([\d.]+)$/.exec(imports[name] ?? "")?.[1];
    if (tested !== undefined) assertEquals([name, version], [name, tested]);
  }
});

Deno.test("examples/notes-node passes its own type check and tests on Node", async () => {
  await withExample(async (cwd) => {
    assertEquals((await runProgram("npm", ["run", "--silent", "typecheck"], { cwd })).stdout, "");
    assertMatch(
      (await runOrThrow("npm", ["run", "--silent", "test"], { cwd })).stdout,
      /pass 1\n[^]*fail 0/,
    );
  });
});

Deno.test("examples/notes-node bundles each function, and a bundle answers", async () => {
  await withExample(async (cwd) => {
    await runOrThrow("npm", ["run", "--silent", "build"], { cwd });
    const folders = [...Deno.readDirSync(join(cwd, "dist"))].map(({ name }) => name).sort();
    assertEquals(folders, [
      "auth-proxy-any",
      "health-get",
      "notes-index-get",
      "notes-index-post",
    ]);
    // apart from node_modules, as Lambda runs it
    const alone = await Deno.makeTempDir({ dir: CACHE });
    try {
      await copy(join(cwd, "dist", "notes-index-get"), alone);
      const { stdout } = await runOrThrow("node", [
        "--input-type=module",
        "-e",
        `import { handler } from "${join(alone, "index.mjs")}";
const context = { awsRequestId: "r", functionName: "f", getRemainingTimeInMillis: () => 5000 };
console.log((await handler({ httpMethod: "GET", path: "/notes", headers: {}, requestContext: {} }, context)).statusCode);`,
      ], {
        cwd: alone,
        env: { STAGE: "prod", DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" },
      });
      assertEquals(stdout.trim().split("\n").at(-1), "401");
    } finally {
      await Deno.remove(alone, { recursive: true });
    }
  });
});

Deno.test("examples/notes-node starts, and serves a note over HTTP", async () => {
  await withExample(async (cwd) => {
    const port = freePort();
    const server = new Deno.Command("node", {
      args: ["--import", "tsx", "src/start.ts"],
      cwd,
      env: { PORT: String(port), DATABASE_URL: "memory://" },
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const reader = server.stdout.pipeThrough(new TextDecoderStream()).getReader();
    try {
      let printed = "";
      while (!printed.includes("Try, one after the other")) {
        const { value, done } = await reader.read();
        if (done) break;
        printed += value;
      }
      assertStringIncludes(printed, `Notes runs at http://`);
      const url = /Notes runs at (\S+)\./.exec(printed)![1];
      const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
        fetch(url + path, {
          method: "POST",
          headers: { "Content-Type": "application/json", ...headers },
          body: JSON.stringify(body),
        });
      const user = { name: "Ada", email: "ada@example.com", password: "correct-horse" };
      const { token } = await (await post("/auth/sign-up/email", user)).json();
      const Authorization = `Bearer ${token}`;
      assertEquals(
        (await (await post("/notes", { title: "Milk" }, { Authorization })).json()).title,
        "Milk",
      );
      const { notes } = await (await fetch(`${url}/notes`, { headers: { Authorization } })).json();
      assertEquals(notes.map(({ title }: { title: string }) => title), ["Milk"]);
    } finally {
      server.kill("SIGTERM");
      await reader.cancel();
      assertEquals((await server.status).code, 0);
    }
  });
});
