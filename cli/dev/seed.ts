import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { getDrizzleClient } from "../../database/providers/client.ts";
import type { DatabaseConfig } from "../../database/config/config.ts";
import { splitStatements } from "../../sql/statement.ts";
import { executeRows } from "../../database/session/execute.ts";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import { sql } from "../../database/orm.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { importFile } from "../discovery/import_file.ts";
import { bundleFunction } from "../sources/local_bundle.ts";

/** Options of {@link runSeed}. */
export interface SeedOptions {
  /** Absolute path of a `.sql` file, or of a module with the export `seed` or a default export. */
  readonly file: string;
  /** Absolute path of the project. */
  readonly root: string;
  /** Absolute path of a folder for the module's bundle. */
  readonly outDir: string;
  readonly config: DatabaseConfig;
}

/** The argument of a seed function. */
export interface SeedContext {
  /** A client of the database that the functions use. */
  readonly db: DrizzleClient;
}

/**
 * Seeds a new database: executes the statements of a SQL file, or calls the function `seed` (or the
 * default export) of a module.
 *
 * @throws {ConfigurationError} If the file is missing, exports no function or fails.
 */
export async function runSeed(options: SeedOptions): Promise<void> {
  const { file, root, config } = options;
  const name = relative(root, file);
  if (!existsSync(file)) {
    throw new ConfigurationError(`The seed ${name} does not exist (dev.seed in trellis.config.ts)`);
  }
  const db = await getDrizzleClient(config);
  try {
    if (file.endsWith(".sql")) {
      for (const { text } of splitStatements(readFileSync(file, "utf8"))) {
        await executeRows(db, sql.raw(text));
      }
    } else {
      await (await loadSeed(options))({ db });
    }
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause;
    const { message } = ((cause as Error).cause ?? cause) as Error;
    throw new ConfigurationError(
      `The seed ${name} failed: ${message}. Fix it and start with --reset (trellis dev), or run ` +
        "trellis db reset: both delete existing data",
      { cause },
    );
  }
}

type Seed = (context: SeedContext) => unknown;

interface SeedModule {
  readonly seed?: Seed;
  readonly default?: Seed;
}

async function loadSeed({ file, root, outDir }: SeedOptions): Promise<Seed> {
  const outfile = join(outDir, `seed-${Date.now()}.mjs`);
  const { code } = await bundleFunction({ name: "seed", file, root, outfile }, new Map());
  mkdirSync(outDir, { recursive: true });
  writeFileSync(outfile, code);
  try {
    const { seed, default: fallback } = await importFile<SeedModule>(outfile);
    const fn = seed ?? fallback;
    if (typeof fn === "function") return fn;
  } finally {
    rmSync(outDir, { recursive: true, force: true });
  }
  throw new ConfigurationError(
    `${
      relative(root, file)
    } does not export a seed. Write export async function seed({ db }) { … }`,
  );
}
