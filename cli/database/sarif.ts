import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { formatPlanFinding, type PlanFinding } from "../../sql/plan_finding.ts";
import type { CommandContext, CommandOption } from "../terminal/command.ts";

/** The option `--sarif` of commands with findings about migrations. */
export const SARIF_OPTION: CommandOption = {
  name: "sarif",
  value: "file",
  description: "Write the findings to this file as SARIF 2.1.0.",
};

/**
 * Writes findings into the file of the option `--sarif`, if the command has it.
 *
 * @param context The command.
 * @param findings The findings.
 * @param folder The migrations folder, relative to the working directory.
 */
export function writeSarif(
  { options, cwd }: CommandContext,
  findings: readonly PlanFinding[],
  folder: string,
): void {
  if (typeof options.sarif !== "string") return;
  const log = {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [{
      tool: { driver: { name: "trellis", rules: [...new Set(findings.map(getRule))].map(toRule) } },
      results: findings.map((finding) => toResult(finding, folder)),
    }],
  };
  writeFileSync(resolve(cwd, options.sarif), `${JSON.stringify(log, null, 2)}\n`);
}

function getRule({ rule }: PlanFinding): string {
  return rule;
}

function toRule(id: string): { id: string } {
  return { id };
}

function toResult(finding: PlanFinding, folder: string): Record<string, unknown> {
  const { severity, rule, file, line, column } = finding;
  const text = formatPlanFinding({ ...finding, file: undefined, line: undefined });
  const region = line === undefined ? {} : { region: { startLine: line, startColumn: column } };
  const uri = `${folder.replaceAll("\\", "/")}/${file}`;
  const location = { physicalLocation: { artifactLocation: { uri }, ...region } };
  return {
    ruleId: rule,
    level: severity,
    message: { text },
    ...file === undefined ? {} : { locations: [location] },
  };
}
