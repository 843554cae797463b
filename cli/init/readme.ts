import { PROJECT_COMMANDS, type ProjectRuntime } from "./project_runtime.ts";
import type { ProjectTemplate } from "./project_template.ts";

/**
 * Renders the README of a new project.
 *
 * @param template The kind of project.
 */
export function renderReadme(
  name: string,
  { title, paths, files }: ProjectTemplate,
  runtime: ProjectRuntime,
): string {
  const { install, run, test, trellis } = PROJECT_COMMANDS[runtime];
  const lines = [
    [install, "first; commit the lock file"],
    [
      `${run} dev`,
      "run all functions on http://localhost:8787 with an embedded Postgres and live reload",
    ],
    [test, "run the tests with a test database"],
    [`${run} check`, "check types"],
    [
      `${run} generate`,
      "generate database grants, Terraform and the OpenAPI document; commit these files",
    ],
    [`${run} build`, "bundle each function into dist/"],
    [
      `${trellis} db apply-permissions`,
      "create database roles and grants, after trellis db migrate; trellis deploy does both",
    ],
    [`${run} ci`, "run all checks before a merge"],
  ];
  const rows = paths.map(([path, content]) => `| \`${path}\` | ${content} |\n`).join("");
  const count = Object.keys(files).filter((path) => path.startsWith("migrations/")).length;
  const next = String(count + 1).padStart(4, "0");
  const [route] = Object.keys(files).flatMap((path) =>
    /^src\/functions\/api\/([a-z]+)\/index\.post\.ts$/.exec(path)?.[1] ?? []
  );
  const width = Math.max(...lines.map(([command]) => command.length));
  return `# ${name}

${title}

\`\`\`sh
${lines.map(([command, what]) => `${command.padEnd(width)}  # ${what}`).join("\n")}
\`\`\`

| Path | Content |
| --- | --- |
| \`src/functions/api/\` | one file for each function: \`${route}/index.post.ts\` is \`POST /${route}\` |
${rows}| \`src/queries/\` | statements; their tables become the grants of the functions that call them |
| \`src/schema.ts\`, \`migrations/\` | tables, and the SQL that creates them |
| \`src/database.ts\` | the database, configured by environment variables (\`.env.example\`) |
| \`trellis.config.ts\` | settings of the \`trellis\` commands |
| \`tests/\` | tests that pass events to handlers and check responses |

To add a route, add a file. To add or change a table, edit \`src/schema.ts\` and write its migration: \`${trellis} generate migration <name>\` creates
\`migrations/${next}_<name>.sql\`. Read the file. \`trellis dev\` applies it while it runs.
`;
}
