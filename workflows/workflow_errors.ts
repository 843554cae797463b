/**
 * Error of a step, an undo or a child workflow that failed for the last time. A workflow can catch it; it is the
 * same when the workflow is replayed.
 *
 * @example
 * ```ts
 * import { WorkflowStepError } from "@trellis/fn/workflows";
 *
 * const error = new WorkflowStepError("charge", "Error: The card was declined");
 * console.log(error.stepName, error.message); // charge The step "charge" failed: Error: The card was declined
 * ```
 */
export class WorkflowStepError extends Error {
  override readonly name: string = "WorkflowStepError";
  /** Name of the step. */
  readonly stepName: string;
  /** Classes and messages of the error and its causes, as the table keeps them. */
  readonly reason: string;

  /**
   * @param stepName Name of the step.
   * @param reason Description of its last error.
   */
  constructor(stepName: string, reason: string) {
    super(`The step "${stepName}" failed: ${reason}`);
    this.stepName = stepName;
    this.reason = reason;
  }
}

/**
 * Error that stops a workflow, because its code is wrong: it does not fit the recorded steps, a step was not awaited, or a
 * result cannot be kept. Nothing is undone. `retryWorkflow` continues after a release with the corrected code.
 *
 * @example
 * ```ts
 * import { WorkflowCodeError } from "@trellis/fn/workflows";
 *
 * console.log(new WorkflowCodeError("The step was not awaited").name); // WorkflowCodeError
 * ```
 */
export class WorkflowCodeError extends Error {
  override readonly name: string = "WorkflowCodeError";
}
