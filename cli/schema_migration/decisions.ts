import { UsageError } from "../terminal/command.ts";

/** What the developer decided about tables and columns that the schema does not declare. */
export interface Decisions {
  /** Old and new names, in order: `notes` and `entries`, or `notes.body` and `text`. */
  readonly renames: readonly (readonly [from: string, to: string])[];
  readonly drops: ReadonlySet<string>;
  readonly keeps: ReadonlySet<string>;
  /**
   * True if a renamed column also keeps its old name, for the release that runs.
   * @default false
   */
  readonly isExpand?: boolean;
}

/** No decision. */
export const NO_DECISIONS: Decisions = { renames: [], drops: new Set(), keeps: new Set() };

/**
 * Parses the options `--rename`, `--drop`, `--keep` and `--expand`.
 *
 * @param options The options of the command line.
 * @throws {UsageError} If a rename has no new name, or `--expand` no rename.
 */
export function parseDecisions(
  options: Readonly<Record<string, string | boolean | undefined>>,
): Decisions {
  const renames = splitList(options.rename).map(parseRename);
  const isExpand = options.expand === true;
  if (isExpand && renames.length === 0) {
    throw new UsageError("--expand needs --rename, such as --rename notes.body=text");
  }
  return {
    renames,
    isExpand,
    drops: new Set(splitList(options.drop)),
    keeps: new Set(splitList(options.keep)),
  };
}

function splitList(value: string | boolean | undefined): string[] {
  if (typeof value !== "string") return [];
  return value.split(",").map((part) => part.trim()).filter((part) => part !== "");
}

function parseRename(text: string): readonly [string, string] {
  const [from, to, ...rest] = text.split("=").map((part) => part.trim());
  if (!from || !to || rest.length > 0) {
    throw new UsageError(`--rename must be old=new, such as notes.body=text, got "${text}"`);
  }
  return [from, to];
}
