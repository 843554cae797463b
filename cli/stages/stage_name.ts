import { type CommandContext, UsageError } from "../terminal/command.ts";

/** Valid stage names; the core module has the same rule. */
const STAGE_NAME = /^(?=.{1,20}$)[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;

/** Checks the name of a stage. */
export function isStageName(name: string): boolean {
  return STAGE_NAME.test(name);
}

/** The option `--stage` of commands. */
export const STAGE_OPTION = {
  name: "stage",
  value: "name",
  description: "The stage, such as dev, prod or preview-42.",
} as const;

/**
 * Reads the option `--stage`.
 *
 * @returns The name.
 * @throws {UsageError} If it is missing or invalid.
 */
export function readStage(options: CommandContext["options"]): string {
  const stage = options.stage;
  if (typeof stage !== "string") {
    throw new UsageError("Name the stage: --stage dev");
  }
  if (isStageName(stage)) return stage;
  throw new UsageError(
    `--stage is "${stage}": use lower-case letters, digits and single hyphens, beginning with a ` +
      "letter, at most 20 characters",
  );
}

/**
 * Returns true for stages whose data may be lost: `dev`, and those that begin with `preview`. The generated
 * Terraform has the same rule (`is_disposable`) and protects the data of other stages.
 */
export function isDisposableStage(name: string): boolean {
  return name === "dev" || name.startsWith("preview");
}
