import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import {
  ModulesPathError,
  type ModulesPathErrorCode,
  resolveModulesPath,
} from "../../../cli/mod.ts";
import { MODULES_MANIFEST } from "../../../cli/infra/modules_manifest.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

const FILES: Readonly<Record<string, string>> = {
  "core/versions.tf": "terraform {}\n",
  "database/distsql/main.tf": "# cluster\n",
};
const MANIFEST = Object.fromEntries(
  Object.entries(FILES).map(([path, text]) => [path, sha256(text)]),
);

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

async function write(
  folder: string,
  files: Readonly<Record<string, string>> = FILES,
): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await Deno.mkdir(dirname(join(folder, path)), { recursive: true });
    await Deno.writeTextFile(join(folder, path), text);
  }
}

async function assertRefused(
  result: Promise<string>,
  code: ModulesPathErrorCode,
  ...words: string[]
): Promise<void> {
  const error = await assertRejects(() => result, ModulesPathError);
  assertEquals(error.code, code);
  for (const word of words) assertStringIncludes(error.message, word);
}

/** A registry of packages: serves what it is given, counts what is asked of it. */
async function withRegistry(
  files: Record<string, string>,
  body: (base: string, asked: string[]) => Promise<void>,
): Promise<void> {
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const path = new URL(request.url).pathname.replace("/@trellis/fn/1.2.3/modules/", "");
    asked.push(path);
    return path in files
      ? new Response(files[path])
      : new Response("no such file", { status: 404 });
  });
  try {
    await body(
      `http://127.0.0.1:${server.addr.port}/@trellis/fn/1.2.3/cli/infra/modules_path.ts`,
      asked,
    );
  } finally {
    await server.shutdown();
  }
}

Deno.test("resolveModulesPath() gives the package's own modules when it is run from this checkout", async () => {
  const path = await resolveModulesPath();
  assertEquals(path, fileURLToPath(new URL("../../../modules", import.meta.url)));
  for (const file of Object.keys(MODULES_MANIFEST)) {
    assert((await Deno.stat(join(path, file))).isFile, file);
  }
});

Deno.test("resolveModulesPath() gives the installed package's own modules when a sibling checkout is there too", async () => {
  await withTempFolder({}, async (folder) => {
    const installed = join(folder, "app", "node_modules", "@trellis", "fn");
    await write(join(installed, "modules"));
    await write(join(folder, "trellis", "modules"));
    const path = await resolveModulesPath({
      baseUrl: pathToFileURL(join(installed, "cli", "infra", "modules_path.js")),
      projectDir: join(folder, "app"),
    });
    assertEquals(path, join(installed, "modules"));
  });
});

for (const name of ["trellis", "fn"]) {
  Deno.test(`resolveModulesPath() gives a sibling checkout named ${name} when the package has no modules`, async () => {
    await withTempFolder({}, async (folder) => {
      await write(join(folder, name, "modules"));
      const path = await resolveModulesPath({
        baseUrl: pathToFileURL(
          join(folder, "app", "node_modules", "old", "cli", "infra", "modules_path.js"),
        ),
        projectDir: join(folder, "app"),
      });
      assertEquals(path, join(folder, name, "modules"));
    });
  });
}

Deno.test("resolveModulesPath() returns the explicit path when the package has its own modules", async () => {
  await withTempFolder({}, async (folder) => {
    await write(join(folder, "app", "infra"));
    const projectDir = join(folder, "app");
    assertEquals(
      await resolveModulesPath({ modulesPath: "infra", projectDir }),
      join(projectDir, "infra"),
    );
    assertEquals(
      await resolveModulesPath({ modulesPath: join(projectDir, "infra") }),
      join(projectDir, "infra"),
    );
  });
});

Deno.test("resolveModulesPath() throws EXPLICIT_PATH_INVALID when the explicit path holds no modules", async () => {
  await withTempFolder({}, async (folder) => {
    for (const modulesPath of ["nowhere", ""]) {
      await assertRefused(
        resolveModulesPath({ modulesPath, projectDir: folder }),
        "EXPLICIT_PATH_INVALID",
        `"${modulesPath}"`,
        "core/versions.tf is missing",
      );
    }
  });
});

Deno.test("resolveModulesPath() throws MODULES_NOT_FOUND with all places when no place holds modules", async () => {
  await withTempFolder({}, async (folder) => {
    await assertRefused(
      resolveModulesPath({
        baseUrl: pathToFileURL(join(folder, "a", "b", "c.js")),
        projectDir: join(folder, "app"),
      }),
      "MODULES_NOT_FOUND",
      join(folder, "modules"),
      join(folder, "trellis", "modules"),
      "--modules-path",
    );
  });
});

Deno.test("resolveModulesPath() writes the modules to the cache once when it is run from JSR", async () => {
  await withTempFolder({}, async (cacheDir) => {
    await withRegistry({ ...FILES }, async (baseUrl, asked) => {
      const options = { baseUrl, cacheDir, manifest: MANIFEST };
      const path = await resolveModulesPath(options);
      assertEquals(dirname(path), cacheDir);
      for (const [file, text] of Object.entries(FILES)) {
        assertEquals(await Deno.readTextFile(join(path, file)), text);
      }
      assertEquals(asked.toSorted(), Object.keys(FILES).toSorted());

      assertEquals(await resolveModulesPath(options), path);
      assertEquals(asked.length, 2);
      assertEquals([...Deno.readDirSync(cacheDir)].length, 1);
    });
  });
});

Deno.test("resolveModulesPath() uses another folder when the manifest is another", async () => {
  await withTempFolder({}, async (cacheDir) => {
    const newer = { ...FILES, "core/versions.tf": "terraform { }\n" };
    const first = await withFiles(FILES, cacheDir);
    const second = await withFiles(newer, cacheDir);
    assert(first !== second);
    assertEquals(await Deno.readTextFile(join(first, "core/versions.tf")), "terraform {}\n");
  });
});

async function withFiles(
  files: Readonly<Record<string, string>>,
  cacheDir: string,
): Promise<string> {
  return await resolveModulesPath({
    baseUrl: "https://registry.example/@trellis/fn/1.2.3/cli/infra/modules_path.ts",
    cacheDir,
    manifest: Object.fromEntries(Object.entries(files).map(([path, text]) => [path, sha256(text)])),
    fetch: (url) =>
      Promise.resolve(new Response(files[new URL(String(url)).pathname.split("/modules/")[1]])),
  });
}

Deno.test("resolveModulesPath() fetches again when a cached file was changed or is missing", async () => {
  await withTempFolder({}, async (cacheDir) => {
    const path = await withFiles(FILES, cacheDir);
    await Deno.writeTextFile(join(path, "core/versions.tf"), "changed");
    assertEquals(await withFiles(FILES, cacheDir), path);
    assertEquals(
      await Deno.readTextFile(join(path, "core/versions.tf")),
      FILES["core/versions.tf"],
    );

    await Deno.remove(join(path, "database/distsql/main.tf"));
    assertEquals(await withFiles(FILES, cacheDir), path);
    assertEquals(
      await Deno.readTextFile(join(path, "database/distsql/main.tf")),
      FILES["database/distsql/main.tf"],
    );
    assertEquals([...Deno.readDirSync(cacheDir)].length, 1);
  });
});

Deno.test("resolveModulesPath() gives one whole folder when several processes fetch at once", async () => {
  await withTempFolder({}, async (cacheDir) => {
    const paths = await Promise.all(Array.from({ length: 8 }, () => withFiles(FILES, cacheDir)));
    assertEquals(new Set(paths).size, 1);
    assertEquals([...Deno.readDirSync(cacheDir)].map(({ name }) => join(cacheDir, name)), [
      paths[0],
    ]);
    assertEquals(
      await Deno.readTextFile(join(paths[0], "core/versions.tf")),
      FILES["core/versions.tf"],
    );
  });
});

Deno.test("resolveModulesPath() throws CHECKSUM_MISMATCH and writes nothing when a file is not the published one", async () => {
  await withTempFolder({}, async (cacheDir) => {
    await withRegistry({ ...FILES, "core/versions.tf": "tampered" }, async (baseUrl) => {
      await assertRefused(
        resolveModulesPath({ baseUrl, cacheDir, manifest: MANIFEST }),
        "CHECKSUM_MISMATCH",
        "core/versions.tf",
        sha256("tampered"),
      );
      assertEquals([...Deno.readDirSync(cacheDir)], []);
    });
  });
});

Deno.test("resolveModulesPath() throws DOWNLOAD_FAILED when a file is not there or nothing answers", async () => {
  await withTempFolder({}, async (cacheDir) => {
    await withRegistry({ "core/versions.tf": FILES["core/versions.tf"] }, async (baseUrl) => {
      await assertRefused(
        resolveModulesPath({ baseUrl, cacheDir, manifest: MANIFEST }),
        "DOWNLOAD_FAILED",
        "database/distsql/main.tf",
        "status 404",
      );
    });
    await assertRefused(
      resolveModulesPath({
        baseUrl: "https://registry.example/cli/infra/modules_path.ts",
        cacheDir,
        manifest: MANIFEST,
        fetch: () => Promise.reject(new TypeError("no network")),
      }),
      "DOWNLOAD_FAILED",
      "no network",
      "--modules-path",
    );
    assertEquals([...Deno.readDirSync(cacheDir)], []);
  });
});

Deno.test("resolveModulesPath() throws CACHE_NOT_WRITABLE when the cache folder is a file", async () => {
  await withTempFolder({}, async (folder) => {
    const cacheDir = join(folder, "file");
    await Deno.writeTextFile(cacheDir, "");
    await assertRefused(
      withFiles(FILES, cacheDir),
      "CACHE_NOT_WRITABLE",
      cacheDir,
      "XDG_CACHE_HOME",
    );
  });
});
