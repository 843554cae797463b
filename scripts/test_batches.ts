import { basename, join, relative } from "node:path";

/** Folders of `tests` that contain no tests. */
const SKIPPED = ["fixtures", "mutation", "std_assert", "support"];

/**
 * Name of the files that start other programs as a user does: browsers, npm, Terraform, bundlers,
 * new projects, and processes that are killed. They take minutes, and few changes concern them.
 */
const SYSTEM = "_system_test.ts";

/**
 * Folders and files that take longest, measured on 2026-11-23. Each runs in its own process, or in
 * several with `LONG_SIZE` files each, and they start first, so that no process is left alone with
 * them in the end.
 */
const LONGEST: readonly string[] = [
  "consumers",
  "terraform_system_test.ts",
  "examples",
  "cli/init",
  "cli/deploy/rehearsal_system_test.ts",
  "cli/deploy/migration_function_system_test.ts",
  "cli/build/changed_constants_system_test.ts",
  "cli/commands/generate_infra_terraform_system_test.ts",
  // they wait for limits of time
  "faults/silent_test.ts",
  "faults/network_test.ts",
  "faults",
  "doc_examples_test.ts",
  "cli/dev/page_system_test.ts",
  "cli/database/rollback_test.ts",
  "distsql/recreate/killed_system_test.ts",
  "cli/database/clone_killed_system_test.ts",
  "database/migrations/processes_system_test.ts",
  "load",
];

/**
 * Folders whose files run in one isolate, one after the other, so that the library and its packages are
 * loaded once; each line is one isolate, or several with `SHARED_SIZE` files each. A file belongs to
 * the first line that names its folder, and lines that take longest come first. Tests restore what they set in the process. In other folders each
 * file has its own isolate.
 */
const SHARED_ISOLATES: readonly (readonly string[])[] = [
  ["cli/commands"],
  ["database/migrations"],
  ["distsql/recreate", "distsql/batches"],
  ["auth"],
  ["jobs", "workflows", "mail", "realtime", "uploads", "bench"],
  ["cli/build", "cli/sources"],
  ["cli/grants", "cli/project"],
  ["database/session"],
  ["cli/database", "cli/dev"],
  ["cli/compat", "cli/discovery", "cli/infra", "cli/openapi", "cli/stages"],
  ["cli"],
  ["database/providers"],
  ["database"],
  ["concurrency", "idempotency", "security", "upgrades"],
  ["distsql", "sql"],
  ["property"],
  ["validation", "client"],
  ["testing"],
  ["core", "env", "errors", "observability", "router", "streaming"],
  ["scripts"],
];

/** Files of these folders that need their own isolate. */
const OWN_ISOLATE: readonly string[] = [
  // the packages that the first call of a process loads
  "auth/loading_test.ts",
  // the first client that a process opens is its default
  "cli/commands/generated_roles_test.ts",
  "cli/commands/jobs_test.ts",
  "cli/commands/workflows_test.ts",
  // the first invocation of a process
  "core/with_observability_test.ts",
  // the plan of a claim is made again after twice as many claims of a process
  "jobs/plans_test.ts",
];

/** Files of a long folder that share a process. */
const LONG_SIZE = 7;

/** Files that share a process, which costs some time to start. */
const BATCH_SIZE = 12;

/** Files that share an isolate: no process must be left alone with many of them in the end. */
const SHARED_SIZE = 20;

/** Tests to run: those of the system, the others, or all. */
export type TestScope = "system" | "others" | "all";

/** Test files of one process. */
export interface TestBatch {
  /** Paths of the files. */
  readonly files: readonly string[];
  /** True if the files can run in one isolate. */
  readonly sharesIsolate: boolean;
}

/**
 * Divides the tests among processes.
 *
 * @param folder The folder of the tests.
 * @param scope Which tests run.
 * @returns The files of each process, those that take longest first.
 */
export function planBatches(folder: string, scope: TestScope): TestBatch[] {
  const files = listTests(folder)
    .map((file) => relative(folder, file).replaceAll("\\", "/"))
    .filter((file) => scope === "all" || file.endsWith(SYSTEM) === (scope === "system"))
    .sort();
  return planFiles(files).filter((batch) => batch.files.length > 0).map((batch) => ({
    ...batch,
    files: batch.files.map((file) => join(basename(folder), file)),
  }));
}

function planFiles(files: readonly string[]): TestBatch[] {
  const findLong = (file: string) => LONGEST.find((path) => isWithin(file, path));
  const long = LONGEST.flatMap((path) =>
    divide(files.filter((file) => findLong(file) === path), LONG_SIZE)
  );
  const rest = files.filter((file) => findLong(file) === undefined);
  const shared = SHARED_ISOLATES.map((folders) =>
    rest.filter((file) => canShareIsolate(file) && findSharedFolders(file) === folders)
  ).flatMap((each) => divide(each, SHARED_SIZE));
  const separate = rest.filter((file) => !shared.flat().includes(file));
  return [
    ...long.map((each) => ({ files: each, sharesIsolate: false })),
    ...divide(separate, BATCH_SIZE).map((each) => ({ files: each, sharesIsolate: false })),
    // the last of them take seconds
    ...shared.map((each) => ({ files: each, sharesIsolate: true })),
  ];
}

function canShareIsolate(file: string): boolean {
  return !file.endsWith(SYSTEM) && !OWN_ISOLATE.includes(file);
}

function findSharedFolders(file: string): readonly string[] | undefined {
  return SHARED_ISOLATES.find((folders) => folders.some((path) => isWithin(file, path)));
}

/** Divides files into equal parts of at most `size`. */
function divide(files: readonly string[], size: number): string[][] {
  const parts = Math.ceil(files.length / size);
  return Array.from(
    { length: parts },
    (_, part) => files.filter((_, at) => at % parts === part),
  );
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
