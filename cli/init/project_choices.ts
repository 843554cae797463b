/** Names of the kinds of new projects; the first is the default. */
export const TEMPLATE_NAMES = ["notes", "api", "accounts", "jobs", "empty"] as const;

/** Name of a kind of new project. */
export type TemplateName = (typeof TEMPLATE_NAMES)[number];

/** Names of the databases that a new project can be deployed to; the first is the default. */
export const DATABASE_NAMES = ["postgres", "aurora-dsql", "neon", "rds-data"] as const;

/** Name of the database that a new project is deployed to. */
export type DatabaseName = (typeof DATABASE_NAMES)[number];

/** The local runtime of a project; deployed functions always run on Node.js in Lambda. */
export type ProjectRuntime = "node" | "deno";

/** What installs the packages of a Node.js project. */
export type PackageManager = "npm" | "pnpm" | "yarn" | "bun";

/** How a project installs its packages, and runs its scripts and the commands of this package. */
export interface ProjectCommands {
  readonly install: string;
  /** Installs exactly what the lock file names, on a machine with Node.js, or Deno, and nothing else. */
  readonly installLocked: string;
  readonly run: string;
  readonly test: string;
  readonly trellis: string;
}

const NODE_COMMANDS: Readonly<Record<PackageManager, ProjectCommands>> = {
  npm: {
    install: "npm install",
    installLocked: "npm ci",
    run: "npm run",
    test: "npm test",
    trellis: "npx trellis",
  },
  pnpm: {
    install: "pnpm install",
    installLocked: "npm install --global pnpm@10 && pnpm install --frozen-lockfile",
    run: "pnpm run",
    test: "pnpm test",
    trellis: "pnpm exec trellis",
  },
  yarn: {
    install: "yarn install",
    installLocked: "corepack enable && yarn install --immutable",
    // yarn 1 has its own command check
    run: "yarn run",
    test: "yarn run test",
    trellis: "yarn run trellis",
  },
  bun: {
    install: "bun install",
    installLocked: "npm install --global bun@1 && bun install --frozen-lockfile",
    run: "bun run",
    // bun test is another test runner
    test: "bun run test",
    trellis: "bun run trellis",
  },
};

const DENO_COMMANDS: ProjectCommands = {
  // without a lock file, Deno may load the types of two copies of drizzle-orm
  install: "deno install",
  installLocked: "deno ci",
  run: "deno task",
  test: "deno task test",
  trellis: "deno task trellis",
};

/** Returns the commands of a project. */
export function getProjectCommands(
  runtime: ProjectRuntime,
  manager: PackageManager = "npm",
): ProjectCommands {
  return runtime === "deno" ? DENO_COMMANDS : NODE_COMMANDS[manager];
}

/**
 * Returns the package manager that runs this program.
 *
 * @param userAgent The variable `npm_config_user_agent`, which npm, pnpm, Yarn and Bun set: `pnpm/10.20.0 npm/? node/v24…`.
 * @returns The manager; npm if the variable is missing or names another one.
 */
export function readPackageManager(userAgent: string | undefined): PackageManager {
  const name = userAgent?.split("/", 1)[0] ?? "";
  return Object.hasOwn(NODE_COMMANDS, name) ? name as PackageManager : "npm";
}
