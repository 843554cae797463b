import { basename, join, relative } from "node:path";

/** Folders of `tests` that contain no tests. */
const SKIPPED = ["fixtures", "mutation", "std_assert", "support"];

/**
 * Tests of what a release contains: the npm package in other projects, the modules in Terraform, a
 * new project. They take about as long as all others together, and few changes concern them.
 */
const RELEASE = [
  // its files share one installed package
  "consumers",
  "terraform_test.ts",
  "cli/commands/generate_infra_terraform_test.ts",
  "cli/deploy/rehearsal_test.ts",
  "cli/init",
];

/**
 * The other folders and files that take longest, measured on 2026-11-22. Each runs in a process of its
 * own, and they start first, so that no process is left alone with them in the end.
 */
const LONGEST = [
  "faults",
  "cli/database",
  "cli/dev/local_database_test.ts",
  "cli/commands/build_test.ts",
  "cli/commands/db_clone_cases_test.ts",
  "cli/commands/db_clone_private_test.ts",
  "cli/commands/db_clone_test.ts",
  "database/migrations/row_changes",
  "database/migrations/alter_table_test.ts",
  "database/migrations/enums_differential_test.ts",
  "database/migrations/processes_test.ts",
  "database/recreation",
  "database/providers",
  "load",
  "examples",
];

/** Files that share a process, which costs some time to start. */
const BATCH_SIZE = 12;

/** Tests to run: those of the released files, the others, or all. */
export type TestScope = "release" | "sources" | "all";

/**
 * Divides the tests among processes.
 *
 * @param folder The folder of the tests.
 * @param examples Arguments for the process that runs the examples of docs and doc comments.
 * @param scope Which tests run.
 * @returns The paths of each process, those that take longest first.
 */
export function planBatches(
  folder: string,
  examples: readonly string[],
  scope: TestScope,
): (readonly string[])[] {
  const toPath = (file: string) => join(basename(folder), file);
  const release = RELEASE.map((path) => [toPath(path)]);
  if (scope === "release") return release;
  const sources = [examples, ...planSources(folder).map((batch) => batch.map(toPath))];
  return scope === "all" ? [...release, ...sources] : sources;
}

function planSources(folder: string): string[][] {
  const files = listTests(folder).map((file) => relative(folder, file).replaceAll("\\", "/"))
    .filter((file) => !RELEASE.some((path) => isWithin(file, path))).sort();
  const long = LONGEST.map((path) => files.filter((file) => isWithin(file, path)));
  const rest = files.filter((file) => !LONGEST.some((path) => isWithin(file, path)));
  const batches: string[][] = [];
  for (let at = 0; at < rest.length; at += BATCH_SIZE) {
    batches.push(rest.slice(at, at + BATCH_SIZE));
  }
  return [...long, ...batches];
}

function listTests(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) => {
    if (isDirectory) return SKIPPED.includes(name) ? [] : listTests(join(folder, name));
    return name.endsWith("_test.ts") ? [join(folder, name)] : [];
  });
}

function isWithin(file: string, path: string): boolean {
  return file === path || file.startsWith(`${path}/`);
}
