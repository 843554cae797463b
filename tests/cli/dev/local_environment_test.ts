import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import { LocalEnvironment } from "../../../cli/dev/local_environment.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

function withFolder(test: (root: string, secretsFile: string) => Promise<void>): Promise<void> {
  return withTempFolder({}, (root) => test(root, join(root, ".trellis/dev/secrets.json")));
}

Deno.test("LocalEnvironment lets the shell win over .env, and .env over what is provided", async () => {
  await withFolder(async (root, secretsFile) => {
    await Deno.writeTextFile(
      join(root, ".env"),
      `SHELL_NAME=file\nFILE_NAME="of the file"\nEMPTY=\n# NOT=1\n`,
    );
    const env: Record<string, string | undefined> = { SHELL_NAME: "shell", BLANK: "" };
    const environment = new LocalEnvironment({ root, secretsFile, env });
    assertEquals(environment.refresh(), true);
    environment.provide({
      SHELL_NAME: "given",
      FILE_NAME: "given",
      EMPTY: "given",
      BLANK: "given",
      NEW: "given",
      NONE: undefined,
    });
    assertEquals(env, {
      SHELL_NAME: "shell",
      FILE_NAME: "of the file",
      EMPTY: "given",
      BLANK: "given",
      NEW: "given",
    });
    assertEquals(environment.refresh(), false);
    await Deno.writeTextFile(
      join(root, ".env"),
      "OTHER=1 # a longer file than before, with other names in it\n",
    );
    assertEquals(environment.refresh(), true);
    assertEquals([env.FILE_NAME, env.OTHER, env.EMPTY], [undefined, "1", "given"]);
    environment.override({ SHELL_NAME: undefined, NEW: "forced" });
    assertEquals(["SHELL_NAME" in env, env.NEW], [false, "forced"]);
    environment.restore();
    assertEquals(env.SHELL_NAME, "shell");
    assertEquals([env.OTHER, env.NEW, env.BLANK], [undefined, undefined, ""]);
  });
});

Deno.test("LocalEnvironment generates required secrets once, for its owner's eyes, and names what it cannot make up", async () => {
  await withFolder(async (root, secretsFile) => {
    const source = join(root, "a.ts");
    await Deno.writeTextFile(
      source,
      `getRequiredEnv("AUTH_SECRET"); getRequiredEnv('STRIPE_API_KEY'); getRequiredEnv("GIVEN_TOKEN");
       getRequiredEnv("PARTNER_URL"); getOptionalEnv("OTHER_SECRET"); defineApiHandler({ auth: "bearer" });`,
    );
    const env: Record<string, string | undefined> = { GIVEN_TOKEN: "mine" };
    const first = new LocalEnvironment({ root, secretsFile, env });
    assertEquals(first.provideFor([source, join(root, "gone.ts")]), ["PARTNER_URL"]);
    assertEquals(first.generated(), ["API_BEARER_TOKEN", "AUTH_SECRET", "STRIPE_API_KEY"]);
    assertMatch(env.AUTH_SECRET!, /^[0-9a-f]{64}$/);
    assertEquals([env.GIVEN_TOKEN, env.OTHER_SECRET], ["mine", undefined]);
    assertEquals((await Deno.stat(secretsFile)).mode! & 0o777, 0o600);

    const later: Record<string, string | undefined> = {};
    new LocalEnvironment({ root, secretsFile, env: later }).provideFor([source]);
    assertEquals(later.AUTH_SECRET, env.AUTH_SECRET);
  });
});

Deno.test("LocalEnvironment moves the project's own addresses to the server's port, and tells", async () => {
  await withFolder(async (root, secretsFile) => {
    const source = join(root, "auth.ts");
    await Deno.writeTextFile(
      source,
      `const url = getOptionalEnv("SITE_URL", "http://127.0.0.1:8787/auth");
getOptionalEnv("OTHER_URL", "http://localhost:9000");
getOptionalEnv("SHELL_URL", "http://localhost:8787");`,
    );
    await Deno.writeTextFile(
      join(root, ".env"),
      "AUTH_BASE_URL=http://localhost:8787/auth\nORIGINS=http://localhost:5173,http://localhost:8787\n" +
        "REMOTE=https://example.com:8787/x\nPORT=8787\n",
    );
    const env: Record<string, string | undefined> = { SHELL_URL: "http://localhost:8787/kept" };
    const moved: string[] = [];
    const environment = new LocalEnvironment({
      root,
      secretsFile,
      env,
      ports: { from: 8787, to: 3000 },
      onMoved: (name) => moved.push(name),
    });
    environment.refresh();
    environment.provideFor([source]);
    environment.provideFor([source]);
    assertEquals(env, {
      SHELL_URL: "http://localhost:8787/kept",
      AUTH_BASE_URL: "http://localhost:3000/auth",
      ORIGINS: "http://localhost:5173,http://localhost:3000",
      REMOTE: "https://example.com:8787/x",
      PORT: "8787",
      SITE_URL: "http://127.0.0.1:3000/auth",
    });
    assertEquals(moved, ["AUTH_BASE_URL", "ORIGINS", "SITE_URL"]);
    environment.restore();
    assertEquals(env.SITE_URL, undefined);
  });
});
