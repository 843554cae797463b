import { join } from "node:path";

/** The program: `npm create trellis my-api` runs `trellis init my-api`. */
const PROGRAM = `#!/usr/bin/env node
import process from "node:process";

process.argv.splice(2, 0, "init");
await import(new URL("main.js", import.meta.resolve("@trellis/fn/cli")).href);
`;

const README = `# create-trellis

Creates a project with [Trellis](https://www.npmjs.com/package/@trellis/fn), a TypeScript library for API backends on AWS Lambda:

\`\`\`sh
npm create trellis my-api
npm create trellis my-api -- --template empty --database neon   # npm passes options on after --
pnpm create trellis my-api
\`\`\`

The options are those of \`trellis init\`.
`;

/**
 * Writes the package `create-trellis`, which has the version of the npm package.
 *
 * @param out The folder; its files are replaced.
 * @param main Folder with a build of the npm package.
 */
export async function buildCreatePackage(out: string, main: string): Promise<void> {
  const { name, version, license, homepage, bugs, repository, publishConfig } = JSON.parse(
    await Deno.readTextFile(join(main, "package.json")),
  );
  const manifest = {
    name: "create-trellis",
    version,
    description: `Creates a project with ${name}`,
    license,
    homepage,
    bugs,
    repository,
    type: "module",
    engines: { node: ">=20.19" },
    bin: { "create-trellis": "index.js" },
    files: ["index.js"],
    dependencies: { [name]: version },
    publishConfig,
  };
  await Deno.mkdir(out, { recursive: true });
  await Deno.writeTextFile(join(out, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  await Deno.writeTextFile(join(out, "index.js"), PROGRAM);
  await Deno.writeTextFile(join(out, "README.md"), README);
  await Deno.copyFile(join(main, "LICENSE"), join(out, "LICENSE"));
}
