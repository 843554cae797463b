import { assert, assertEquals, assertRejects } from "@std/assert";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { installPython, prepare, run } from "../emulator/emulator.ts";
import { withTempFolder } from "../support/temp_folder.ts";
import { EXAMPLES, FORMS, getDocument, withExample } from "./examples.ts";

/** orval 8 needs Node 22.18. */
const ORVAL = Number((await run("node", ["--version"])).slice(1, 3)) >= 24 ? "8.38.0" : "7.13.2";

/** Generators of TypeScript. The last versions for Node 20. */
const NODE_TOOLS = [
  "typescript@5.9.3",
  "@types/node@20",
  ...["openapi-typescript@7.13.0", "openapi-fetch@0.17.0"],
  `orval@${ORVAL}`,
  "@hey-api/openapi-ts@0.95.0",
  "swagger-typescript-api@13.13.0",
  ...["cli", "core", "plugin-oas", "plugin-ts", "plugin-client"].map((name) =>
    `@kubb/${name}@4.39.3`
  ),
];
const TYPESCRIPT: Readonly<Record<string, (document: string, out: string) => string[]>> = {
  "openapi-typescript": (document, out) => [
    // a field with a default may be left out of a request
    ...[document, "-o", `${out}/api.ts`, "--default-non-nullable=false"],
  ],
  "orval": (document, out) => [
    ...["--input", document, "--output", `${out}/api.ts`, "--client", "fetch"],
  ],
  "openapi-ts": (document, out) => ["-i", document, "-o", out],
  "swagger-typescript-api": (document, out) => [
    ...["generate", "-p", document, "-o", out, "--generate-union-enums"],
  ],
  "kubb": (_, out) => ["generate", "--config", `${out}.config.ts`],
};
const TSCONFIG = {
  compilerOptions: {
    ...{ target: "es2022", module: "esnext", moduleResolution: "bundler", strict: true },
    ...{ noEmit: true, skipLibCheck: true, noUncheckedIndexedAccess: true },
    ...{ allowImportingTsExtensions: true, lib: ["es2022", "dom", "dom.iterable"] },
  },
  include: ["*/**/*.ts"],
};

function kubbConfig(document: string, out: string): string {
  return `import { defineConfig } from "@kubb/core";
import { pluginClient } from "@kubb/plugin-client";
import { pluginOas } from "@kubb/plugin-oas";
import { pluginTs } from "@kubb/plugin-ts";
export default defineConfig({
  root: ${JSON.stringify(dirname(out))},
  input: { path: ${JSON.stringify(document)} },
  output: { path: "kubb", format: false, lint: false },
  plugins: [pluginOas({ generators: [] }), pluginTs(), pluginClient({ client: "fetch" })],
});
`;
}

/** openapi-generator, of Maven. */
const GENERATOR = "org.openapitools:openapi-generator-cli:7.25.0";
const LIVE = fileURLToPath(new URL("live", import.meta.url));

/** Compiled packages, which the three clients share. */
const RUST_TARGET = join(tmpdir(), "trellis-contract-rust");

/** A client in another language. */
interface Language {
  readonly options: readonly string[];
  /** Compiles the client. */
  compile(folder: string): Promise<void>;
  /** Calls the project with it, by the program in another folder. Returns what the program printed. */
  call(folder: string, live: string, url: string, token: string): Promise<string>;
}

function java(library: string, client: string): Language {
  return {
    options: ["-g", "java", "--library", library],
    compile: async (folder) => {
      await run("mvn", ["-q", "compile"], folder);
    },
    async call(folder, live, ...args) {
      const list = ["dependency:build-classpath", "-Dmdep.outputFile=classpath"];
      await run("mvn", ["-q", ...list], folder);
      const libraries = await Deno.readTextFile(`${folder}/classpath`);
      const program = await Deno.readTextFile(`${live}/Live.java`);
      await Deno.writeTextFile(`${folder}/Live.java`, program.replace("CLIENT;", client));
      return await run(
        "java",
        ["-cp", `target/classes:${libraries}`, "Live.java", ...args, library],
        folder,
      );
    },
  };
}

const LANGUAGES: Readonly<Record<string, Language>> = {
  "java": java(
    "okhttp-gson",
    `new ApiClient().setBasePath(args[0]).addDefaultHeader("Authorization", "Bearer " + args[1]);`,
  ),
  "java native": java(
    "native",
    "new ApiClient(); client.updateBaseUri(args[0]); " +
      `client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + args[1]));`,
  ),
  "python": {
    options: ["-g", "python"],
    compile: async (folder) => {
      await run("python3", ["-m", "compileall", "-q", "openapi_client"], folder);
    },
    call: async (folder, live, ...args) =>
      await run(
        await installPython("pydantic==2.14.4", "urllib3", "python-dateutil"),
        [`${live}/live.py`, folder, ...args],
      ),
  },
  "go": {
    options: ["-g", "go", "--additional-properties=withGoMod=true"],
    async compile(folder) {
      await run("go", ["mod", "tidy"], folder);
      await run("go", ["vet", "."], folder);
    },
    async call(folder, live, ...args) {
      await Deno.mkdir(`${folder}/live`, { recursive: true });
      await Deno.copyFile(`${live}/live.go`, `${folder}/live/main.go`);
      return await run("go", ["run", "./live", ...args], folder);
    },
  },
  "rust": {
    options: ["-g", "rust"],
    compile: async (folder) => {
      await run("cargo", ["check", "-q", "--target-dir", RUST_TARGET], folder);
    },
    async call(folder, live, ...args) {
      await Deno.mkdir(`${folder}/examples`, { recursive: true });
      await Deno.copyFile(`${live}/live.rs`, `${folder}/examples/live.rs`);
      await run("cargo", ["add", "-q", "--dev", "tokio", "--features", "full"], folder);
      return await run("cargo", [
        "run",
        "-q",
        "--target-dir",
        RUST_TARGET,
        "--example",
        "live",
        "--",
        ...args,
      ], folder);
    },
  },
};

/** Reads unions by their discriminator. By default, variants with the same fields are an error. */
const UNIONS = "--additional-properties=useOneOfDiscriminatorLookup=true";

/** Clients that do not compile by a fault of the generator, with the line that each error must have. */
const KNOWN_FAULTS: Readonly<Record<string, RegExp>> = {
  // a text or a list of texts: OpenAPITools/openapi-generator#22249
  "java native of accounts": /List<(?:String|Double)>\.class|getList<(?:String|Double)>/,
};

for (const name of EXAMPLES) {
  const live = join(LIVE, "typescript", `${name}.ts`);
  const calls = existsSync(live) ? ", and call it" : "";
  Deno.test(`generators of TypeScript make clients of ${name} that compile strictly${calls}`, async () => {
    const tools = await prepare(`trellis-contract-tools-2-${ORVAL}`, async (draft) => {
      await Deno.writeTextFile(`${draft}/package.json`, `{ "type": "module" }`);
      await run("npm", ["install", "--silent", "--no-audit", "--no-fund", ...NODE_TOOLS], draft);
    });
    const parent = await Deno.makeTempDir({ dir: tools });
    try {
      const document = await getDocument(name);
      const config = kubbConfig(document, join(parent, "kubb"));
      await Deno.writeTextFile(join(parent, "kubb.config.ts"), config);
      for (const [tool, getArguments] of Object.entries(TYPESCRIPT)) {
        const out = join(parent, tool);
        const program = join(tools, "node_modules/.bin", tool);
        await run(program, getArguments(document, out), parent);
      }
      await Deno.writeTextFile(`${parent}/tsconfig.json`, JSON.stringify(TSCONFIG));
      const program = join(parent, "live", `${name}.ts`);
      if (existsSync(live)) {
        await Deno.mkdir(dirname(program));
        await Deno.copyFile(live, program);
      }
      await run(join(tools, "node_modules/.bin/tsc"), ["-p", parent]);
      if (!existsSync(live)) return;
      const call = async (url: string, token: string) => {
        const flags = ["--no-check", "--node-modules-dir=manual", "--unstable-sloppy-imports"];
        const args = ["run", "-A", ...flags, "--location", url, program, token];
        const called = await run(Deno.execPath(), args, parent);
        assertEquals(called.trim().split("\n").length, Object.keys(TYPESCRIPT).length);
      };
      for (const form of FORMS) await withExample(name, call, form);
    } finally {
      await Deno.remove(parent, { recursive: true });
    }
  });
}

for (const [language, { options, compile, call }] of Object.entries(LANGUAGES)) {
  Deno.test({
    name: `clients in ${language} compile, and call booking and shapes`,
    fn: async () => {
      await run("mvn", ["-q", "dependency:get", `-Dartifact=${GENERATOR}`, "-Dtransitive=false"]);
      const [group, artifact, version] = GENERATOR.split(":");
      const file = `${
        group.replaceAll(".", "/")
      }/${artifact}/${version}/${artifact}-${version}.jar`;
      const jar = join(Deno.env.get("HOME")!, ".m2/repository", file);
      for (const name of EXAMPLES) {
        await withTempFolder({}, async (folder) => {
          const args = ["generate", "-i", await getDocument(name), "-o", folder, UNIONS];
          await run("java", ["-jar", jar, ...args, ...options]);
          const fault = KNOWN_FAULTS[`${language} of ${name}`];
          if (fault !== undefined) return await checkFault(compile(folder), folder, fault);
          await compile(folder);
          const live = join(LIVE, name);
          if (!existsSync(live)) return;
          // a build of booking answers alike, so one language is enough
          const forms = language === "python" || name === "shapes" ? FORMS : ["sources"] as const;
          for (const form of forms) {
            await withExample(name, async (url, token) => {
              assertEquals((await call(folder, live, url, token)).trim(), "called");
            }, form);
          }
        });
      }
    },
  });
}

/** Checks that a compiler refuses a client, and for the lines of a known fault alone. */
async function checkFault(compiled: Promise<void>, folder: string, fault: RegExp): Promise<void> {
  const { message } = await assertRejects(() => compiled, Error);
  const places = [...message.matchAll(/(\/[^\s:]+\.java):\[(\d+),\d+\]/g)];
  assert(places.length > 0 && places.every(([file]) => file.startsWith(folder)), message);
  for (const [, file, line] of places) {
    const text = (await Deno.readTextFile(file)).split("\n")[Number(line) - 1];
    assert(fault.test(text), `${file}:${line} ${text}`);
  }
}
