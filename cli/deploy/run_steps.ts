import type { Output } from "../terminal/output.ts";

/** One step of a deployment. */
export interface DeploymentStep {
  /** `build` */
  readonly name: string;
  /** Runs the step and returns one line about its result; `undefined` if there was nothing to do. */
  run(): Promise<string | undefined>;
}

/** A step that was run. */
export interface StepResult {
  readonly name: string;
  readonly result: string;
}

/** The steps that were run, in order. */
export interface StepReport {
  readonly steps: readonly StepResult[];
  /** Name of the step that failed, which is the last one. */
  readonly failed?: string;
}

/**
 * Runs steps one after another, up to the first failure, and prints a line about each of them.
 *
 * @param beforeStep Called before each step; if it throws, the step has failed.
 * @returns The results; errors of steps are printed, not thrown.
 */
export async function runSteps(
  steps: readonly DeploymentStep[],
  output: Output,
  beforeStep: () => Promise<void> = async () => {},
): Promise<StepReport> {
  const results: StepResult[] = [];
  for (const [index, { name, run }] of steps.entries()) {
    try {
      await beforeStep();
      const result = await output.step(`Running the step ${name}`, run) ?? "nothing to do";
      results.push({ name, result });
      output.line(`${output.green("done")} ${name}: ${result}`);
    } catch (error) {
      output.endProgress();
      output.line(`${output.red("failed")} ${name}: ${(error as Error).message}`);
      const rest = steps.slice(index + 1).map((each) => each.name);
      if (rest.length > 0) output.line(`Not run: ${rest.join(", ")}.`);
      return { steps: [...results, { name, result: "failed" }], failed: name };
    }
  }
  return { steps: results };
}
