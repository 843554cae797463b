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

/** An event of `--json`: a line on standard error. */
interface StepEvent {
  readonly event: "step started" | "step ended";
  /** `build` */
  readonly step: string;
  /** Only at the end: how it ended, one line about the result or the failure, and its time. */
  readonly status?: "done" | "failed";
  readonly result?: string;
  readonly durationMs?: number;
}

const inSeconds = (ms: number) => (ms / 1000).toFixed(1);

/** Describes how long each step took: `34.2 s: build 3.1, plan 8.0`. Short ones are left out. */
export function describeTimes(steps: readonly StepResult[]): string {
  const long = steps.filter(({ durationMs }) => durationMs >= SHORT_MS);
  const parts = long.map(({ name, durationMs }) => `${name} ${inSeconds(durationMs)}`);
  const total = inSeconds(steps.reduce((sum, { durationMs }) => sum + durationMs, 0));
  return `${total} s${parts.length === 0 ? "" : `: ${parts.join(", ")}`}`;
}

const SHORT_MS = 100;

/** Options of {@link runSteps}. */
export interface StepOptions {
  /** Called before each step; if it throws, the step has failed. */
  readonly beforeStep?: () => Promise<void>;
  /** Line after a failure. @default the names of the steps that were not run */
  readonly afterFailure?: string;
}

/**
 * Runs steps one after another, up to the first failure, and prints a line about each of them; with `--json`, an event
 * before and after each of them.
 *
 * @returns The results; errors of steps are printed, not thrown.
 */
export async function runSteps(
  steps: readonly DeploymentStep[],
  output: Output,
  { beforeStep, afterFailure }: StepOptions = {},
): Promise<StepReport> {
  const results: StepResult[] = [];
  const report = (event: StepEvent) => {
    if (output.isJson) output.note(JSON.stringify(event));
  };
  for (const [index, { name, run }] of steps.entries()) {
    const startedMs = performance.now();
    const finish = (status: "done" | "failed", result: string) => {
      const durationMs = Math.round(performance.now() - startedMs);
      report({ event: "step ended", step: name, status, result, durationMs });
      results.push({ name, result: status === "done" ? result : status, durationMs });
      return durationMs < SHORT_MS ? "" : ` (${inSeconds(durationMs)} s)`;
    };
    report({ event: "step started", step: name });
    try {
      await beforeStep?.();
      const result = await output.step(`Running the step ${name}`, run) ?? "nothing to do";
      output.line(`${output.green("done")} ${name}: ${result}${finish("done", result)}`);
    } catch (error) {
      output.endProgress();
      const { message } = error as Error;
      output.line(`${output.red("failed")} ${name}: ${message}`);
      const rest = steps.slice(index + 1).map((each) => each.name);
      const notRun = rest.length === 0 ? undefined : `Not run: ${rest.join(", ")}.`;
      const text = afterFailure ?? notRun;
      if (text !== undefined) output.line(text);
      finish("failed", message);
      return { steps: results, failed: name };
    }
  }
  return { steps: results };
}
