import { AUTH_MIGRATION_SQL } from "../../auth/tables/migration.ts";
import { RATE_LIMIT_MIGRATION_SQL } from "../../database/rate_limits/migration.ts";
import { ACCOUNT_FILES } from "./account_files.ts";
import type { ConfigParts } from "./config_file.ts";
import { JOB_FILES } from "./job_files.ts";
import { AUTH_ROUTE_FILES, renderAuthConfig, renderNotes } from "./note_files.ts";
import type { TemplateName } from "./project_choices.ts";
import { SECRETS_CLIENT } from "./project_database.ts";
import type { VERSIONS } from "./versions.ts";

/** What distinguishes one kind of new project from the others. */
export interface ProjectTemplate {
  /** First sentence of the README. */
  readonly title: string;
  readonly files: Readonly<Record<string, string>>;
  /** The part of the files that a product does not keep; none in an empty project. */
  readonly example?: ProjectExample;
  readonly config: ConfigParts;
  /** Packages in addition to those of every project and of the database. */
  readonly packages: readonly (keyof typeof VERSIONS)[];
  /** Lines of `.env.example` before those of the database. */
  readonly envExample: string;
  /** Rows of the README's table: path and content. */
  readonly paths: readonly (readonly [path: string, content: string])[];
}

/** The example in a new project. */
export interface ProjectExample {
  /** What belongs to it: files, folders and patterns of a shell. */
  readonly paths: readonly string[];
  /** Text of `src/schema.ts` without it: one line. */
  readonly schema: string;
}

const EMPTY: ProjectTemplate = {
  title: "An API of Lambda functions.",
  files: {
    "src/schema.ts":
      "// tables of drizzle-orm/pg-core; trellis generate migration <name> writes the SQL that creates them\nexport {};\n",
  },
  config: { environment: [], infra: [], budgets: '{ "*": 440_000 }' },
  packages: [],
  envExample: "",
  paths: [],
};

const NOTE_PATHS = [
  "migrations/*_notes.sql",
  "src/functions/api/notes",
  "src/notes_schemas.ts",
  "src/queries/notes.ts",
  "tests/notes.test.ts",
] as const;

const API: ProjectTemplate = {
  ...EMPTY,
  title: "An API of Lambda functions with notes in a table.",
  files: renderNotes(false, 1),
  example: { paths: NOTE_PATHS, schema: "export {};" },
};

const AUTH_TABLES = `${AUTH_MIGRATION_SQL}--> statement-breakpoint\n${RATE_LIMIT_MIGRATION_SQL}`;

const AUTH_ENV_EXAMPLE = `# Secret that signs sessions: at least 32 random characters.
AUTH_SECRET=
# Public URL of the routes in auth/.
AUTH_BASE_URL=http://localhost:8787/auth
`;

const AUTH_SCHEMA =
  'export { authAccounts, authSessions, authUsers, authVerification } from "@trellis/fn/auth/schema";';

const NOTES: ProjectTemplate = {
  title: "An API of Lambda functions with sign-up, sessions and notes.",
  files: {
    "migrations/0001_auth.sql": AUTH_TABLES,
    ...renderNotes(true, 2),
    "src/auth.ts": renderAuthConfig(),
    ...AUTH_ROUTE_FILES,
  },
  example: { paths: NOTE_PATHS, schema: AUTH_SCHEMA },
  config: {
    environment: ["AUTH_SECRET: { secret: true },", 'AUTH_BASE_URL: { api: "/auth" },'],
    infra: [],
    budgets: '{ "*": 450_000, AuthByProxy: 1_500_000 }',
  },
  packages: [SECRETS_CLIENT, "better-auth"],
  envExample: AUTH_ENV_EXAMPLE,
  paths: [
    [
      "src/functions/schedule/",
      "functions that run on a schedule: the clean-up of expired sessions",
    ],
    ["src/auth.ts", "sign-up and sessions"],
  ],
};

const MAIL_CLIENTS = ["@aws-sdk/client-sesv2", "@aws-sdk/client-sqs"] as const;

// the template accounts has its own test
const { "tests/notes.test.ts": _test, ...NOTES_WITH_ACCOUNTS } = renderNotes(true, 3);

const ACCOUNTS: ProjectTemplate = {
  title: "An API of Lambda functions with accounts, verified by mail, and notes.",
  files: {
    "migrations/0001_auth.sql": AUTH_TABLES,
    ...NOTES_WITH_ACCOUNTS,
    ...AUTH_ROUTE_FILES,
    ...ACCOUNT_FILES,
  },
  // its test also writes a note
  example: {
    paths: [...NOTE_PATHS.slice(0, -1), "tests/accounts.test.ts"],
    schema: AUTH_SCHEMA,
  },
  config: {
    environment: [
      ...NOTES.config.environment,
      "// the origin of your pages, and the sender of mails",
      "WEB_ORIGIN: { variable: true },",
      'MAIL_FROM: { variable: true, default: "Notes <notes@example.com>" },',
      'JOBS_QUEUE_URL: { queue: "mail" },',
    ],
    stages: "{\n|      " + [
      'dev: { variables: { web_origin: "http://localhost:3000" } },',
      'prod: { variables: { web_origin: "https://app.example.com" } },',
    ].join("\n|      ") + "\n|    }",
    infra: ["// the domain that mails are sent from", 'mail: { identity: "example.com" },'],
    budgets: NOTES.config.budgets,
  },
  packages: [...NOTES.packages, ...MAIL_CLIENTS],
  envExample: NOTES.envExample + `# Origin of your pages, which invitations lead to.
WEB_ORIGIN=http://localhost:3000
`,
  paths: [
    [
      "src/functions/schedule/",
      "functions that run on a schedule: the clean-up of expired sessions, and the relay of mails",
    ],
    ["src/auth.ts", "sign-up and sessions"],
    [
      "src/mails.ts",
      "verification and password reset; locally they are on the page of the dev command",
    ],
    ["src/functions/queue/mail.ts", "sends the mails"],
  ],
};

const JOBS: ProjectTemplate = {
  ...EMPTY,
  title: "An API of Lambda functions with orders, which a background job ships.",
  files: JOB_FILES,
  example: {
    paths: [
      "migrations/*_orders.sql",
      "src/functions/api/orders",
      "src/functions/schedule/jobs_relay.ts",
      "src/jobs.ts",
      "src/orders_schemas.ts",
      "src/queries/orders.ts",
      "tests/orders.test.ts",
    ],
    schema: "export {};",
  },
  config: {
    environment: [],
    infra: ['functions: { IdempotencyCleanup: { schedule: "rate(1 day)" } },'],
    budgets: '{ "*": 480_000 }',
  },
  paths: [
    [
      "src/jobs.ts",
      "background jobs, which are enqueued in the transaction of a request; work with several steps, or that waits for " +
      "days, is a workflow: `trellis db tables workflows`",
    ],
    ["src/functions/schedule/", "functions that run on a schedule: due jobs, the clean-up"],
  ],
};

/** The kinds of new projects. */
export const PROJECT_TEMPLATES: Readonly<Record<TemplateName, ProjectTemplate>> = {
  notes: NOTES,
  api: API,
  accounts: ACCOUNTS,
  jobs: JOBS,
  empty: EMPTY,
};
