import { join } from "node:path";
import { splitStatements } from "../../sql/statement.ts";
import { findFirstWord, stripMark } from "../../sql/text_position.ts";
import { readMigrationFolder } from "../../database/migrations/folder.ts";

/** A statement of a migration, which can be edited or dropped. */
export interface Piece {
  /** Current text of the statement. */
  text: string;
  /** Reason for dropping it. */
  dropped?: string;
  /** Reason for removing a part of it. */
  edited?: string;
}

/** A migration file. */
export interface TrialFile {
  readonly tag: string;
  readonly pieces: Piece[];
}

/**
 * Reads the migrations of drizzle-kit (`meta/_journal.json`), of Prisma (a folder with
 * `migration.sql` for each migration), or numbered files.
 *
 * @param folder The folder's path.
 */
export function readTrial(folder: string): TrialFile[] {
  const entries = [...Deno.readDirSync(folder)];
  const isPrisma = entries.some(({ isDirectory, name }) => isDirectory && name !== "meta") &&
    !entries.some(({ name }) => name.endsWith(".sql"));
  const files = isPrisma
    ? readPrisma(folder, entries.map(({ name }) => name))
    : readMigrationFolder(folder).files;
  return files.map(({ tag, sql }) => ({
    tag,
    pieces: splitStatements(stripMark(sql)).map((statement) => ({
      text: statement.text.slice(findFirstWord(statement) - statement.start),
    })),
  }));
}

function readPrisma(folder: string, names: string[]): { tag: string; sql: string }[] {
  return names.sort().flatMap((name, place) => {
    try {
      const sql = Deno.readTextFileSync(join(folder, name, "migration.sql"));
      const title = name.replace(/[^A-Za-z0-9_]+/g, "_").replace(/^\d+_/, "");
      return [{ tag: `${String(place).padStart(4, "0")}_${title}`, sql }];
    } catch {
      return []; // migration_lock.toml, or a migration of another kind
    }
  });
}

/** Joins the remaining statements. An empty file becomes a SELECT without rows. */
export function getText({ pieces }: TrialFile): string {
  const left = pieces.filter(({ dropped }) => dropped === undefined).map(({ text }) => text);
  return left.length === 0 ? "SELECT 1" : left.join("\n--> statement-breakpoint\n");
}

/** Writes the remaining statements to a folder of migrations with a journal. */
export function writeTrial(files: readonly TrialFile[], folder: string): void {
  Deno.mkdirSync(join(folder, "meta"));
  const entries = files.map(({ tag }, idx) => ({ idx, tag }));
  Deno.writeTextFileSync(join(folder, "meta", "_journal.json"), JSON.stringify({ entries }));
  for (const file of files) Deno.writeTextFileSync(join(folder, `${file.tag}.sql`), getText(file));
}
