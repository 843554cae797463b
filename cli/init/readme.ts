import type { ProjectCommands } from "./project_choices.ts";
import type { ProjectDatabase } from "./project_database.ts";
import type { ProjectExample, ProjectTemplate } from "./project_template.ts";

/**
 * Renders the README of a new project.
 *
 * @param template The kind of project.
 * @param database The database that it is deployed to.
 * @param commands Its commands.
 */
export function renderReadme(
  name: string,
  { title, paths, files, example: removable }: ProjectTemplate,
  { hasRoles }: ProjectDatabase,
  { install, run, test, trellis }: ProjectCommands,
): string {
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
    ...hasRoles
      ? [[
        `${trellis} db apply-permissions`,
        "create database roles and grants, after trellis db migrate; trellis deploy does both",
      ]]
      : [],
    [`${run} ci`, "run all checks before a merge"],
  ];
  const rows = paths.map(([path, content]) => `| \`${path}\` | ${content} |\n`).join("");
  const count = Object.keys(files).filter((path) => path.startsWith("migrations/")).length;
  const next = String(count + 1).padStart(4, "0");
  const [example = ["health.get.ts", "GET /health"]] = Object.keys(files).flatMap((path) => {
    const [, route] = /^src\/functions\/api\/([a-z]+)\/index\.post\.ts$/.exec(path) ?? [];
    return route === undefined ? [] : [[`${route}/index.post.ts`, `POST /${route}`]];
  });
  const width = Math.max(...lines.map(([command]) => command.length));
  return `# ${name}

${title}

\`\`\`sh
${lines.map(([command, what]) => `${command.padEnd(width)}  # ${what}`).join("\n")}
\`\`\`

| Path | Content |
| --- | --- |
| \`src/functions/api/\` | one file for each function: \`${example[0]}\` is \`${example[1]}\` |
${rows}| \`src/queries/\` | statements; their tables become the grants of the functions that call them |
| \`src/schema.ts\`, \`migrations/\` | tables, and the SQL that creates them |
| \`src/database.ts\` | the database, configured by environment variables (\`.env.example\`)${
    hasRoles ? "" : "; deployed functions share its user"
  } |
| \`trellis.config.ts\` | settings of the \`trellis\` commands |
| \`tests/\` | tests that call the functions as clients do |

To add a route, add a file. To add or change a table, edit \`src/schema.ts\` and write its migration: \`${trellis} generate migration <name>\` creates
\`migrations/${next}_<name>.sql\`. Read the file. \`trellis dev\` applies it while it runs.
${removable === undefined ? "" : renderRemoval(removable, `${run} dev`)}`;
}

/** Renders how the example is removed before the first deployment. */
function renderRemoval({ paths, schema }: ProjectExample, dev: string): string {
  const separator = dev.startsWith("npm ") ? " --" : "";
  return `
To remove the example before the first deployment, with the tests that use it:

\`\`\`sh
rm -r ${paths.join(" ")} && echo '${schema}' > src/schema.ts
\`\`\`

Then start \`${dev}${separator} --reset\` once, which creates the local database again, and generate.
`;
}
