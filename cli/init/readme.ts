/** The commands of a project. */
export interface ProjectCommands {
  readonly install?: string;
  readonly dev: string;
  readonly test: string;
  readonly check: string;
  readonly generate: string;
  readonly build: string;
  readonly grants: string;
  readonly ci: string;
}

/**
 * Renders the README of a new project.
 *
 * @param name The project name.
 * @param commands The commands.
 */
export function renderReadme(name: string, commands: ProjectCommands): string {
  const lines = [
    ...commands.install === undefined ? [] : [[commands.install, "first"]],
    [
      commands.dev,
      "run all functions on http://localhost:8787 with an embedded Postgres and live reload",
    ],
    [commands.test, "run the tests with a test database"],
    [commands.check, "check types"],
    [
      commands.generate,
      "generate database grants, Terraform and the OpenAPI document; commit these files",
    ],
    [commands.build, "bundle each function into dist/"],
    [commands.grants, "apply database roles, at each deployment after trellis db migrate"],
    [commands.ci, "run all checks before a merge"],
  ];
  const width = Math.max(...lines.map(([command]) => command.length));
  return `# ${name}

An API of Lambda functions with sign-up, sessions and notes.

\`\`\`sh
${lines.map(([command, what]) => `${command.padEnd(width)}  # ${what}`).join("\n")}
\`\`\`

| Path | Content |
| --- | --- |
| \`src/functions/api/\` | one file for each function: \`notes/index.post.ts\` is \`POST /notes\` |
| \`src/functions/schedule/\` | functions that run on a schedule: the clean-up of expired sessions |
| \`src/queries/\` | queries with declared tables and operations |
| \`src/schema.ts\`, \`migrations/\` | tables, and the SQL that creates them |
| \`src/auth.ts\`, \`src/database.ts\` | sessions and database, configured by environment variables (\`.env.example\`) |
| \`trellis.config.ts\` | settings of the \`trellis\` commands |
| \`tests/\` | tests that pass events to handlers and check responses |

To add a route, add a file. To add a table, add a migration \`migrations/0003_<name>.sql\` and declare its columns in \`src/schema.ts\`.
`;
}
