import { dirname, relative } from "node:path";
import { REPOSITORY, resolveLink, SITE } from "./links.ts";
import type { Page, Section } from "./pages.ts";

/** A section with its pages. */
export interface PageGroup {
  readonly title: Section["title"];
  readonly pages: readonly Page[];
}

/**
 * Converts a page of the repository to a page of the site: links to other pages become relative,
 * links to other files of the repository lead to GitHub, and characters that VitePress would read
 * as a template are escaped.
 *
 * @param text The Markdown.
 * @param path Path of the page from the root of the repository.
 * @returns The Markdown for the site.
 */
export function toSitePage(text: string, path: string, sitePath: string): string {
  return mapProse(
    rewriteLinks(text, path, sitePath),
    (prose) => prose.replace(/<(?!a id="|\/a>|!--)/g, "&lt;").replaceAll("{{", "&#123;&#123;"),
  );
}

/**
 * Makes links to other pages relative, and lets links to other files of the repository lead to GitHub.
 *
 * @param path Path of the page from the root of the repository.
 * @param sitePath Path of the page from the folder of all pages.
 */
export function rewriteLinks(text: string, path: string, sitePath: string): string {
  return mapProse(
    text,
    (prose) =>
      prose.replace(/\]\(([^)\s#]*)(#[^)\s]*)?\)/g, (_match, target: string, anchor = "") => {
        return `](${rewriteTarget(path, sitePath, target)}${anchor})`;
      }),
  );
}

function rewriteTarget(path: string, sitePath: string, target: string): string {
  const file = target === "" ? undefined : resolveLink(path, target);
  if (file === undefined) return target;
  if (!file.startsWith("docs/")) return `${REPOSITORY}/blob/main/${file}`;
  const link = relative(dirname(sitePath), file.slice("docs/".length));
  return link.startsWith(".") ? link : `./${link}`;
}

/** Applies a function to the parts of a Markdown text outside of code. */
function mapProse(text: string, change: (prose: string) => string): string {
  return text.split(/(^```[\s\S]*?^```$|`[^`\n]*`)/m)
    .map((part, index) => index % 2 === 1 ? part : change(part)).join("");
}

/** Address of the pages' sources. */
export const RAW_DOCS: string = `${
  REPOSITORY.replace("github.com", "raw.githubusercontent.com")
}/main/docs/`;

/**
 * Renders `llms.txt`: an index of the documentation for language models (https://llmstxt.org).
 *
 * @param groups All pages, in order.
 * @param summary One sentence about the project.
 * @param base Address or relative path of the pages, with a slash at its end.
 * @returns The file's text.
 */
export function renderLlmsTxt(
  groups: readonly PageGroup[],
  summary: string,
  base: string,
): string {
  const sections = groups.map(({ title, pages }) => {
    const lines = pages.map(({ path, title, summary }) =>
      `- [${title}](${base}${path}): ${summary}`
    );
    return `## ${title}\n\n${lines.join("\n")}\n`;
  });
  return `# Trellis\n\n> ${summary}\n\n${sections.join("\n")}`;
}

/** Returns the sentence in bold with which the README starts. */
export function getSummary(readme: string): string {
  const sentence = /^\*\*(.+?)\*\*/m.exec(readme)?.[1];
  if (sentence === undefined) throw new Error("README.md has no summary in bold");
  return sentence;
}

/** The icon of the site: the slats of a trellis. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="6" fill="#1f6f5c"/>
<path d="M11 5v22M21 5v22M5 11h22M5 21h22" stroke="#fff" stroke-width="3" stroke-linecap="round"/>
</svg>
`;

/** Name of the file with {@link ICON}. Without a link, browsers request `/favicon.ico`. */
export const ICON_FILE = "favicon.svg";

function getIconLink(base: string): Record<string, string> {
  return { rel: "icon", type: "image/svg+xml", href: `${base}${ICON_FILE}` };
}

/**
 * Adds the icon to a page.
 *
 * @param html The page, with a `head`.
 * @param base Path of the site on its host, with slashes around it.
 */
export function addIcon(html: string, base: string): string {
  const attributes = Object.entries(getIconLink(base)).map(([name, value]) => `${name}="${value}"`);
  return html.replace("</head>", `<link ${attributes.join(" ")}></head>`);
}

/** Name of the page that lists the versions, beside their folders. */
export const VERSIONS_FILE = "versions.html";

/**
 * Renders the page that lists the versions of the site.
 *
 * @param names Names beside the page. Those that are no versions are left out.
 * @returns The HTML, or `undefined` without a version.
 */
export function renderVersions(names: readonly string[]): string | undefined {
  const versions = names.filter((name) => /^\d+\.\d+\.\d+$/.test(name))
    .sort((a, b) => b.localeCompare(a, "en", { numeric: true }));
  if (versions.length === 0) return undefined;
  const items = versions.map((version) => `<li><a href="./${version}/">${version}</a></li>`);
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Versions of Trellis</title></head>
<body><h1>Versions</h1><ul>${items.join("")}</ul></body></html>
`;
}

/**
 * Renders the configuration of VitePress.
 *
 * @param groups All pages, in order.
 * @param base Path of the site on its host, with slashes around it.
 * @param version The version that the pages describe.
 * @returns The text of `config.mjs`.
 */
export function renderSiteConfig(
  groups: readonly PageGroup[],
  base: string,
  version: string,
): string {
  const sidebar = groups.map(({ title, pages }) => ({
    text: title,
    items: pages.map(({ title, path }) => ({
      text: title,
      link: `/${path.replace(/\.md$/, "")}`,
    })),
  }));
  const config = {
    title: "Trellis",
    description: "API backends on AWS Lambda in TypeScript",
    base,
    lang: "en",
    head: [["link", getIconLink(base)]],
    ignoreDeadLinks: ["/api/index"],
    markdown: { lineNumbers: false },
    themeConfig: {
      search: { provider: "local" },
      outline: [2, 3],
      nav: [
        { text: "Getting started", link: "/getting_started" },
        { text: "Symbols", link: "/api/index.html", target: "_self" },
        { text: "GitHub", link: REPOSITORY },
        {
          text: version,
          items: [
            { text: "Changes", link: `${REPOSITORY}/blob/main/CHANGELOG.md` },
            { text: "All versions", link: `${SITE}${VERSIONS_FILE}` },
          ],
        },
      ],
      sidebar: [...sidebar, {
        text: "Symbols",
        items: [{ text: "All exports", link: "/api/index.html", target: "_self" }],
      }],
    },
  };
  return `export default ${JSON.stringify(config, null, 2)};\n`;
}
