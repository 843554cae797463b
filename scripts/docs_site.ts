// deno-lint-ignore-file no-console
/**
 * Builds the documentation site: the pages of docs/ with VitePress, the reference of all symbols
 * with `deno doc`, and llms.txt. VitePress is installed from npm into .trellis/docs_site when it is
 * missing there.
 *
 *   deno run -A scripts/docs_site.ts [--out <folder>] [--base /path/]
 *   deno run -A scripts/docs_site.ts --version <version> --site <folder>   into the folder of the version
 *
 * @module
 */
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { readSections } from "./docs/pages.ts";
import { runOrThrow } from "./program.ts";
import {
  addIcon,
  getSummary,
  ICON,
  ICON_FILE,
  type PageGroup,
  RAW_DOCS,
  renderLlmsTxt,
  renderSiteConfig,
  renderVersions,
  toSitePage,
  VERSIONS_FILE,
} from "./docs/site_pages.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const VITEPRESS = "1.6.4";

/** Keeps the pages of `deno doc` within the width of a phone. */
const NARROW_SCREENS = `
@media (max-width: 700px) {
  .ddoc { display: block; }
  .ddoc nav, .ddoc nav > div { flex-wrap: wrap; height: auto; }
  .ddoc pre, .ddoc table { display: block; max-width: calc(100vw - 3rem); overflow-x: auto; }
}
`;

/** Options of {@link writeSiteSources}. */
export interface SiteOptions {
  /** Path of the site on its host, with slashes around it. */
  base: string;
  /**
   * The version that the pages describe.
   * @default "next"
   */
  version?: string;
}

/**
 * Writes the input of VitePress.
 *
 * @param folder An existing folder.
 */
export async function writeSiteSources(
  folder: string,
  { base, version = "next" }: SiteOptions,
): Promise<void> {
  const docs = join(ROOT, "docs");
  const groups: PageGroup[] = readSections(docs);
  const readme = await Deno.readTextFile(join(ROOT, "README.md"));
  const files: Record<string, string> = {
    ".vitepress/config.mjs": renderSiteConfig(groups, base, version),
    "index.md": toSitePage(readme, "README.md", "index.md"),
    "public/llms.txt": renderLlmsTxt(groups, getSummary(readme), RAW_DOCS),
    [`public/${ICON_FILE}`]: ICON,
  };
  for (const { path, text } of groups.flatMap(({ pages }) => pages)) {
    files[path] = toSitePage(text, `docs/${path}`, path);
  }
  for (const [path, text] of Object.entries(files)) {
    await Deno.mkdir(dirname(join(folder, path)), { recursive: true });
    await Deno.writeTextFile(join(folder, path), text);
  }
  await Deno.mkdir(join(folder, "figures"), { recursive: true });
  for (const { name } of Deno.readDirSync(join(docs, "figures"))) {
    await Deno.copyFile(join(docs, "figures", name), join(folder, "figures", name));
  }
}

async function build(out: string, options: SiteOptions): Promise<void> {
  const work = join(ROOT, ".trellis/docs_site");
  const sources = join(work, "src");
  await Deno.remove(sources, { recursive: true }).catch(() => {});
  await Deno.mkdir(sources, { recursive: true });
  await Deno.writeTextFile(
    join(work, "package.json"),
    JSON.stringify({ private: true, dependencies: { vitepress: VITEPRESS } }),
  );
  await writeSiteSources(sources, options);
  const cwd = { cwd: work };
  await runOrThrow("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline"], cwd);
  await runOrThrow("npx", ["vitepress", "build", "src", "--outDir", out], cwd);
  const symbols = ["run", "-A", "scripts/api_docs.ts", "--out", join(out, "api")];
  await runOrThrow(Deno.execPath(), symbols, { cwd: ROOT });
  await Deno.writeTextFile(join(out, "api/page.css"), NARROW_SCREENS, { append: true });
  await addIcons(join(out, "api"), options.base);
}

/** Adds the icon to all pages of a folder. */
async function addIcons(folder: string, base: string): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (isDirectory) await addIcons(path, base);
    else if (name.endsWith(".html")) {
      await Deno.writeTextFile(path, addIcon(await Deno.readTextFile(path), base));
    }
  }
}

/** Writes the list of versions, and leads the start page to the newest. */
async function writeVersions(site: string, base: string): Promise<void> {
  const page = renderVersions([...Deno.readDirSync(site)].map(({ name }) => name));
  if (page === undefined) throw new Error(`${site} has no folder of a version`);
  await Deno.writeTextFile(join(site, VERSIONS_FILE), page);
  const [newest] = /\d+\.\d+\.\d+/.exec(page)!;
  const refresh = `<!doctype html><meta http-equiv="refresh" content="0; url=${base}${newest}/">\n`;
  await Deno.writeTextFile(join(site, "index.html"), refresh);
}

if (import.meta.main) {
  const { values: { out = join(ROOT, "docs/site"), base, site, version } } = parseArgs({
    args: Deno.args,
    options: {
      out: { type: "string" },
      base: { type: "string", default: "/" },
      site: { type: "string" },
      version: { type: "string" },
    },
  });
  const folder = resolve(site === undefined ? out : join(site, version ?? "next"));
  await build(folder, { base: site === undefined ? base : `${base}${version}/`, version });
  if (site !== undefined) await writeVersions(resolve(site), base);
  console.log(`written: ${folder}/index.html`);
}
