/** Command lines of a project. */
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
 * The README of a new project.
 *
 * @param name The project's name.
 * @param commands Its command lines.
 */
export function renderReadme(name: string, commands: ProjectCommands): string {
  const lines = [
    ...commands.install === undefined ? [] : [[commands.install, "once"]],
    [commands.dev, "all functions on http://localhost:8787, an embedded Postgres, reload on save"],
    [commands.test, "tests, on a database of their own"],
    [commands.check, "types"],
    [
      commands.generate,
      "database grants, Terraform and the OpenAPI document, from the sources: commit them",
    ],
    [commands.build, "one file for each function, in dist/"],
    [commands.grants, "at a deployment, after trellis db migrate: the functions' database roles"],
    [commands.ci, "all that must hold before a merge"],
  ];
  const width = Math.max(...lines.map(([command]) => command.length));
  return `# ${name}

An API out of functions, with sign-up, sessions and notes.

\`\`\`sh
${lines.map(([command, what]) => `${command.padEnd(width)}  # ${what}`).join("\n")}
\`\`\`

| Where | What |
| --- | --- |
| \`src/functions/api/\` | one file for each function: \`notes/index.post.ts\` is \`POST /notes\` |
| \`src/queries/\` | queries, with the tables and operations that they need |
| \`src/schema.ts\`, \`migrations/\` | tables, and the SQL that makes them |
| \`src/auth.ts\`, \`src/database.ts\` | sessions and the database, by environment variables (\`.env.example\`) |
| \`trellis.config.ts\` | settings of the commands |
| \`tests/\` | events in, responses out |

A new route is a new file. A new table is a new migration, \`migrations/0003_<what>.sql\`, and its columns in \`src/schema.ts\`.
`;
}
