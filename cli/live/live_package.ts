import type { Unzipped, Zippable } from "fflate";
import { explainMissing } from "../../env/optional_package.ts";
import { readBeside } from "../files/read_beside.ts";
import { getModuleUrl } from "../project/module_url.ts";
import { loadEsbuild } from "../sources/load_esbuild.ts";
import { CLI_PACKAGES } from "../terminal/optional_packages.ts";
import type { LiveAddress } from "./channel.ts";

/** What a replaced function needs to be restored. */
export interface LiveFacts {
  /** Id of the session that replaced it. */
  readonly session: string;
  /** The aliases that pointed to a version with the same code, with that version. */
  readonly aliases: Readonly<Record<string, string>>;
}

/** Files of a package: the handler, the deployed handler, the deployed package and the facts. */
const [HANDLER, DEPLOYED, PACKAGE, FACTS] = [
  "index.mjs",
  "deployed.mjs",
  "deployed.zip",
  "live.json",
];
/** Readable by all, as Lambda needs it. */
const FILE_ATTRIBUTES = { os: 3, attrs: 0o644 << 16 };

async function loadZip(): Promise<typeof import("fflate")> {
  return await import("fflate").catch(
    explainMissing(CLI_PACKAGES, "fflate", "trellis dev --stage"),
  );
}

/**
 * Puts the forwarder before the code of a deployed package. The result contains the package whole, so that
 * the function can be restored from itself by any machine.
 *
 * @param deployed The package, a ZIP file.
 * @param forwarder The code of {@link buildForwarder}.
 * @returns The package with the forwarder; a text that says why this package cannot have one.
 */
export async function wrapPackage(
  deployed: Uint8Array,
  forwarder: string,
  facts: LiveFacts,
): Promise<Uint8Array | string> {
  const { strToU8, unzipSync, zipSync } = await loadZip();
  const { [HANDLER]: handler, ...others } = unzipSync(deployed);
  if (handler === undefined || DEPLOYED in others) return "was not built by trellis build";
  const files: Unzipped = {
    ...others,
    [HANDLER]: strToU8(forwarder),
    [DEPLOYED]: handler,
    [FACTS]: strToU8(JSON.stringify(facts)),
  };
  const entries: Zippable = Object.fromEntries(
    Object.entries(files).map(([path, bytes]) => [path, [bytes, { ...FILE_ATTRIBUTES, level: 6 }]]),
  );
  return zipSync({ ...entries, [PACKAGE]: [deployed, { ...FILE_ATTRIBUTES, level: 0 }] });
}

/**
 * Reads the deployed package from one with a forwarder.
 *
 * @returns `undefined` if the package has no forwarder.
 */
export async function unwrapPackage(
  bytes: Uint8Array,
): Promise<{ readonly deployed: Uint8Array; readonly facts: LiveFacts } | undefined> {
  const { strFromU8, unzipSync } = await loadZip();
  const files = unzipSync(bytes, { filter: ({ name }) => name === PACKAGE || name === FACTS });
  if (files[PACKAGE] === undefined || files[FACTS] === undefined) return undefined;
  return { deployed: files[PACKAGE], facts: JSON.parse(strFromU8(files[FACTS])) };
}

/**
 * Imports the forwarder, which runs in Lambda. It is never called: packages of npm and JSR contain the modules
 * that others import.
 */
export const importForwarder = (): Promise<unknown> => import("./forwarder.ts");

/**
 * Builds the code that replaces a function's.
 *
 * @returns An ES module.
 */
export async function buildForwarder(address: LiveAddress): Promise<string> {
  const esbuild = await loadEsbuild("trellis dev --stage");
  const forwarder = JSON.stringify(getModuleUrl(import.meta.url, "./forwarder"));
  const settings = JSON.stringify(address);
  const { outputFiles } = await esbuild.build({
    stdin: {
      contents: `import * as library from "@aws-sdk/client-sqs";
import { createForwarder, openForwarderQueues } from ${forwarder};
const address = ${settings};
const queues = openForwarderQueues(library, address);
export const handler = createForwarder(address, queues, () => import("./${DEPLOYED}"));
`,
    },
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "node20",
    logLevel: "silent",
    external: ["@aws-sdk/client-sqs", `./${DEPLOYED}`],
    plugins: [{
      // the modules of a package from JSR are remote
      name: "own-modules",
      setup(build): void {
        const namespace = "own";
        build.onResolve({ filter: /^(?:file|https?):/ }, ({ path }) => ({ path, namespace }));
        build.onResolve({ filter: /^\./, namespace }, ({ path, importer }) => ({
          path: new URL(path, importer).href,
          namespace,
        }));
        build.onLoad({ filter: /./, namespace }, async ({ path }) => ({
          contents: await readBeside(new URL(path)),
          loader: path.endsWith(".ts") ? "ts" : "js",
        }));
      },
    }],
  });
  return outputFiles[0].text;
}
