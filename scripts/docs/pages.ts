import { join } from "node:path";

/** A page of the documentation. */
export interface Page {
  /** Path from `docs/`, such as `guides/handlers.md`. */
  readonly path: string;
  /** Text of the page's first heading. */
  readonly title: string;
  /** First paragraph, as plain text on one line. */
  readonly summary: string;
  /** The page's Markdown. */
  readonly text: string;
}

/** A titled group of pages, in the order in which they are listed. */
export interface Section {
  readonly title: string;
  /** Paths from `docs/`. */
  readonly paths: readonly string[];
}

/** All pages in reading order. The site's navigation and llms.txt are generated from this list. */
export const SECTIONS: readonly Section[] = [
  { title: "Start", paths: ["getting_started.md", "guides/local_development.md"] },
  {
    title: "Tasks",
    paths: ["build_a_product", "upload_a_file", "paginate", "invoices", "migrate_safely"]
      .map((name) => `tasks/${name}.md`),
  },
  {
    title: "HTTP and triggers",
    paths: [
      "handlers",
      "triggers",
      "jobs",
      "workflows",
      "changes",
      "idempotency",
      "mail",
      "errors",
      "rate_limits",
      "observability",
    ].map((name) => `guides/${name}.md`),
  },
  {
    title: "Accounts",
    paths: ["accounts", "auth", "from_better_auth"].map((name) => `guides/${name}.md`),
  },
  {
    title: "Database",
    paths: ["database", "migrations", "permissions"].map((name) => `guides/${name}.md`),
  },
  {
    title: "Build, test, deploy",
    paths: ["deployment", "first_account", "bundling", "openapi", "client", "react", "testing"]
      .map((name) => `guides/${name}.md`),
  },
  {
    title: "Reference",
    paths: ["cli", "errors", "distsql"].map((name) => `reference/${name}.md`),
  },
  {
    title: "Quality",
    paths: [
      "performance.md",
      "reliability.md",
      "security.md",
      "decisions/architecture.md",
      "decisions/package.md",
      "decisions/analysis.md",
    ],
  },
];

/**
 * Reads the pages of one section.
 *
 * @returns The pages in the section's order.
 * @throws {Error} If a page is missing or has no title.
 */
export function readPages(docsFolder: string, section: Section): Page[] {
  return section.paths.map((path) => {
    const text = Deno.readTextFileSync(join(docsFolder, path));
    const title = /^# (.+)$/m.exec(text)?.[1];
    if (title === undefined) throw new Error(`docs/${path} has no title`);
    return { path, title, summary: summarize(text), text };
  });
}

/** Reads all pages. */
export function readSections(docsFolder: string): { title: string; pages: Page[] }[] {
  return SECTIONS.map((section) => ({
    title: section.title,
    pages: readPages(docsFolder, section),
  }));
}

/** Returns the first paragraph without Markdown, or the empty string. */
function summarize(text: string): string {
  const paragraph = text.split(/\n{2,}/).slice(1).find((block) => /^[A-Za-z`*[(]/.test(block));
  return (paragraph ?? "")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/[`*]/g, "")
    .replace(/\s+/g, " ")
    .trim();
}
