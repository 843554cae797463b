import { getReason } from "../core/triggers/trigger_failure.ts";
import { type JobSettings, readJobOptions } from "../jobs/job_options.ts";
import { TURN } from "./start_workflow.ts";
import type { StepFunction, StepOptions } from "./workflow.ts";
import { WorkflowCodeError } from "./workflow_errors.ts";

const MAX_NAME = 200;

/** Arguments of `step` after its name. */
export interface Step {
  /** The function. */
  readonly fn: StepFunction<unknown>;
  /** Takes it back. */
  readonly undo: StepOptions<unknown>["undo"];
  /** How often it is run again. */
  readonly retry: JobSettings;
}

/**
 * Reads the arguments of `step`.
 *
 * @param name Name of the step.
 * @param rest Options and function.
 * @throws {WorkflowCodeError} If an argument is invalid.
 */
export function readStep(name: string, rest: readonly unknown[]): Step {
  checkName("step", name);
  const fn = rest.at(-1) as StepFunction<unknown>;
  const options = rest.length > 1 ? rest[0] as StepOptions<unknown> : {};
  const { undo, retry, ...unknown } = options;
  const [other] = Object.keys(unknown);
  if (typeof fn !== "function") throw new WorkflowCodeError(`step "${name}" has no function`);
  if (other !== undefined) {
    throw new WorkflowCodeError(`step "${name}" has no option ${other}: it has retry and undo`);
  }
  if (undo !== undefined && typeof undo !== "function") {
    throw new WorkflowCodeError(`undo of step "${name}" must be a function`);
  }
  try {
    return { fn, undo, retry: readJobOptions({ name: "step", schema: TURN, retry }) };
  } catch (error) {
    throw new WorkflowCodeError(`step "${name}": ${getReason(error)}`, { cause: error });
  }
}

/**
 * Checks the name of a step or signal.
 *
 * @param what What has the name, for the message.
 * @param name The name.
 * @throws {WorkflowCodeError} If it is empty or too long.
 */
export function checkName(what: string, name: unknown): void {
  if (typeof name === "string" && name !== "" && name.length <= MAX_NAME && !name.includes("\0")) {
    return;
  }
  throw new WorkflowCodeError(
    `The name of a ${what} must be a text of 1 to ${MAX_NAME} characters`,
  );
}
