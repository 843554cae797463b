// deno-lint-ignore-file no-console
/**
 * Writes `docs/reference/cli.md` from the commands.
 *
 *   deno run -A scripts/cli_reference.ts [--check]
 */
import { COMMON_OPTIONS, renderOption, renderUsage } from "../cli/command.ts";
import { COMMANDS } from "../cli/commands/commands.ts";

const FILE = new URL("../docs/reference/cli.md", import.meta.url);

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

const sections = COMMANDS.map((command) => {
  const { name, summary, description, options, args = [], examples, exitCodes } = command;
  return `## trellis ${name}

${summary}

${description.map((paragraph) => paragraph.replaceAll("\n", " ")).join("\n\n")}

\`\`\`
trellis ${renderUsage(command)}
\`\`\`
${
    args.length === 0 ? "" : `
| Argument | |
| --- | --- |
${args.map((argument) => `| \`${argument.name}\` | ${cell(argument.description)} |`).join("\n")}
`
  }
| Option | |
| --- | --- |
${
    [...options, ...COMMON_OPTIONS].map((option) =>
      `| \`${renderOption(option)}\` | ${cell(option.description)} |`
    )
      .join("\n")
  }

\`\`\`sh
${examples.map(([line, what]) => `# ${what}\n${line}`).join("\n")}
\`\`\`

| Exit code | |
| --- | --- |
${Object.entries(exitCodes).map(([code, what]) => `| ${code} | ${cell(what)} |`).join("\n")}
`;
});

const text = `<!-- made by scripts/cli_reference.ts -->

# Command line

\`trellis\` reads a project's sources; nothing is sent anywhere, and nothing is asked. Run it as \`deno run -A jsr:@trellis/fn/cli\`
or, from the npm package, as \`npx trellis\`.

| Command | |
| --- | --- |
${
  COMMANDS.map(({ name, summary }) =>
    `| [\`${name}\`](#trellis-${name.replaceAll(" ", "-")}) | ${summary} |`
  ).join(
    "\n",
  )
}

Results go to standard output, warnings and progress to standard error. Colours need a terminal and go with \`NO_COLOR\`.
Every file is written aside and renamed, so Ctrl-C (exit code 130) leaves no half of one.

${sections.join("\n")}`;

if (Deno.args.includes("--check")) {
  const present = await Deno.readTextFile(FILE).catch(() => "");
  if (present !== text) {
    console.error("docs/reference/cli.md is stale: run deno run -A scripts/cli_reference.ts");
    Deno.exit(1);
  }
} else {
  await Deno.writeTextFile(FILE, text);
}
