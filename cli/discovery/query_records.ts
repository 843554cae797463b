import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";

/** Folder of the records in a project: one file for each state of the sources. */
export const RECORDS_FOLDER = ".trellis/queries";

/** Hashes of the sources of a project, by their paths relative to it. */
export type SourceHashes = Readonly<Record<string, string>>;

/** Line of a file of records. */
export type RecordLine =
  | { readonly files: SourceHashes }
  | {
    readonly query: string;
    /** Text with `$1` for the first parameter; `null` if the statements of the query are not known. */
    readonly sql: string | null;
  };

const SKIPPED = /^(?:\..*|node_modules|dist|dist\.maps|coverage)$/;
const SOURCE = /\.(?:[cm]?[jt]sx?|json)$/;
/** Lines of a lock file about the packages that write the SQL. */
const SQL_PACKAGES = /^.*(?:drizzle-orm|@trellis\/fn).*$/gm;
const LOCK_FILES: readonly string[] = [
  "package-lock.json",
  "pnpm-lock.yaml",
  "yarn.lock",
  "bun.lock",
  "deno.lock",
];

function hashFile(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  let text = readFileSync(path, "utf8");
  if (LOCK_FILES.includes(basename(path))) text = (text.match(SQL_PACKAGES) ?? []).join("\n");
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** Hashes all sources of a project, and its lock files. */
export function hashSources(root: string): SourceHashes {
  const hashes: Record<string, string> = {};
  function visit(folder: string): void {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory() && !SKIPPED.test(entry.name)) visit(path);
      else if (entry.isFile() && (SOURCE.test(entry.name) || LOCK_FILES.includes(entry.name))) {
        hashes[toKey(root, path)] = hashFile(path)!;
      }
    }
  }
  visit(root);
  return hashes;
}

function toKey(root: string, path: string): string {
  return relative(root, path).split(sep).join("/");
}

/** Parses a file of records. A line that was cut off is ignored. */
export function parseRecords(text: string): RecordLine[] {
  return text.split("\n").flatMap((line): RecordLine[] => {
    try {
      return line === "" ? [] : [JSON.parse(line)];
    } catch {
      return [];
    }
  });
}

/** Statements of a query that tests have run, or why they are not known. */
export type RecordedQuery =
  | { readonly statements: readonly string[] }
  | { readonly reason: string };

interface Recorded {
  readonly files: SourceHashes;
  readonly queries: ReadonlyMap<string, ReadonlySet<string | null>>;
}

/** Recorded statements of a project. */
export class QueryRecords {
  readonly #root: string;
  readonly #recorded: readonly Recorded[];
  readonly #hashes: Map<string, string | undefined> = new Map();

  /** @param root Absolute path of the project. */
  constructor(root: string) {
    this.#root = root;
    const folder = join(root, RECORDS_FOLDER);
    const names = existsSync(folder) ? readdirSync(folder).sort() : [];
    this.#recorded = names.filter((name) => name.endsWith(".jsonl")).map((name) => {
      let files: SourceHashes = {};
      const queries = new Map<string, Set<string | null>>();
      for (const line of parseRecords(readFileSync(join(folder, name), "utf8"))) {
        if ("files" in line) files = line.files;
        else queries.set(line.query, (queries.get(line.query) ?? new Set()).add(line.sql));
      }
      return { files, queries };
    });
  }

  /**
   * Returns the statements that tests have run since the sources of a function last changed.
   *
   * @param name The query's name.
   * @param inputs Absolute paths of the function's sources.
   */
  find(name: string, inputs: readonly string[]): RecordedQuery {
    const recorded = this.#recorded.filter(({ queries }) => queries.has(name));
    if (recorded.length === 0) return { reason: "no test has run it" };
    const current = recorded.filter(({ files }) => this.#isCurrent(files, inputs));
    if (current.length === 0) {
      return { reason: "its sources have changed since a test has run it" };
    }
    const statements = new Set(current.flatMap(({ queries }) => [...queries.get(name)!]));
    if (statements.has(null)) {
      return { reason: "other queries have its name, or its SQL is different in each call" };
    }
    return { statements: [...statements as Set<string>].sort() };
  }

  #isCurrent(files: SourceHashes, inputs: readonly string[]): boolean {
    const paths = [...inputs, ...LOCK_FILES.map((name) => join(this.#root, name))];
    return paths.every((path) => files[toKey(this.#root, path)] === this.#hash(path));
  }

  #hash(path: string): string | undefined {
    if (!this.#hashes.has(path)) this.#hashes.set(path, hashFile(path));
    return this.#hashes.get(path);
  }
}
