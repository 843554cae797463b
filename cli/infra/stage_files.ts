import { ANY_STAGE, hasStages, resolveStage, type StageSource } from "../stages/stage_settings.ts";
import { UNUSED_ALLOWED } from "../grants/permission_files.ts";
import { block, comment, expression, type HclBlock, quote, resource } from "./hcl.ts";

/** Renders the backend, whose address each stage gives at `terraform init`. */
export function renderBackend(settings: StageSource): HclBlock[] {
  if (!hasStages(settings)) return [];
  const kind = settings.state === undefined ? "local" : "s3";
  return [block("terraform", [], block("backend", [kind]))];
}

/**
 * Renders the check that a state belongs to the stage that is planned. The state remembers the stage
 * that it was created with; a plan for another one fails before anything is compared.
 */
export function renderStageGuard(projectName: string): HclBlock {
  return resource(
    "terraform_data",
    "stage",
    { input: expression(`"${projectName}-\${var.environment}"`) },
    block(
      "lifecycle",
      [],
      { ignore_changes: [expression("input")] },
      block("postcondition", [], {
        condition: expression(`self.output == "${projectName}-\${var.environment}"`),
        error_message: expression(
          `"This state belongs to \${self.output}, not to ${projectName}-\${var.environment}. ` +
            `Run terraform init with the backend of the stage, or use trellis deploy --stage \${var.environment}."`,
        ),
      }),
    ),
  );
}

/** Renders which stages may be destroyed together with their data. */
export function renderDisposable(): HclBlock {
  return block(
    "locals",
    [],
    comment("Data of other stages is protected from being destroyed."),
    comment(UNUSED_ALLOWED),
    {
      is_disposable: expression(
        'var.environment == "dev" || startswith(var.environment, "preview")',
      ),
    },
  );
}

/**
 * Renders the files with the backend and the variables of each stage, for use without
 * `trellis deploy`.
 *
 * @returns Contents by file name.
 */
export function renderStageFiles(settings: StageSource, projectName: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const name of Object.keys(settings.stages ?? {})) {
    if (name === ANY_STAGE) continue;
    const { backend, variables } = resolveStage(settings, projectName, name);
    files.set(`stages/${name}.tfbackend`, renderAssignments(backend));
    files.set(`stages/${name}.tfvars`, renderAssignments(variables));
  }
  return files;
}

function renderAssignments(values: Readonly<Record<string, string | number | boolean>>): string {
  const width = Math.max(...Object.keys(values).map((name) => name.length));
  return Object.entries(values).map(([name, value]) =>
    `${name.padEnd(width)} = ${typeof value === "string" ? quote(value) : value}\n`
  ).join("");
}
