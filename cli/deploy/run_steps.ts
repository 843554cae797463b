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
  readonly durationMs: number;
}

/** The steps that were run, in order. */
export interface StepReport {
  readonly steps: readonly StepResult[];
  /** Name of the step that failed, which is the last one. */
  readonly failed?: string;
}

/** Describes how long each step took: `34.2 s: build 3.1, plan 8.0`. Short ones are left out. */
export function describeTimes(steps: readonly StepResult[]): string {
  const inSeconds = (ms: number) => (ms / 1000).toFixed(1);
  const long = steps.filter(({ durationMs }) => durationMs >= SHORT_MS);
  const parts = long.map(({ name, durationMs }) => `${name} ${inSeconds(durationMs)}`);
  const total = inSeconds(steps.reduce((sum, { durationMs }) => sum + durationMs, 0));
  return `${total} s${parts.length === 0 ? "" : `: ${parts.join(", ")}`}`;
}

const SHORT_MS = 100;

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
    const startedMs = performance.now();
    const finish = (result: string) => {
      results.push({ name, result, durationMs: Math.round(performance.now() - startedMs) });
    };
    try {
      await beforeStep();
      const result = await output.step(`Running the step ${name}`, run) ?? "nothing to do";
      finish(result);
      output.line(`${output.green("done")} ${name}: ${result}`);
    } catch (error) {
      output.endProgress();
      output.line(`${output.red("failed")} ${name}: ${(error as Error).message}`);
      const rest = steps.slice(index + 1).map((each) => each.name);
      if (rest.length > 0) output.line(`Not run: ${rest.join(", ")}.`);
      finish("failed");
      return { steps: results, failed: name };
    }
  }
  return { steps: results };
}
