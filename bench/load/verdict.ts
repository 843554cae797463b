import { fitLine } from "./fit_line.ts";
import { percentile } from "./outcomes.ts";
import type { LoadReport, LoadSample } from "./run_load.ts";

/** What memory may grow by, in MB for each 100,000 requests, after the warm-up. */
export const MAX_GROWTH = { heapUsed: 1, rss: 25 } as const;

/** With fewer requests than these a line through the samples says nothing. */
export const MIN_REQUESTS_FOR_GROWTH = 20_000;

/** Descriptors that may be open in the end beside those at the start. */
const MAX_DESCRIPTORS_LEFT = 2;

/** The share of a run after which memory is looked at. */
const WARM_UP = 0.25;

/** How memory grew. */
export interface Growth {
  /** Requests after the warm-up. */
  readonly requests: number;
  /** MB for each 100,000 requests. */
  readonly heapUsed: number;
  readonly rss: number;
  /** Median in MB, of the first and of the last fifth after the warm-up. */
  readonly medians: { readonly heapUsed: readonly [number, number]; readonly rss: readonly [number, number] };
}

/** The lines through the samples after the warm-up. */
export function growthOf(samples: readonly LoadSample[]): Growth {
  const warm = samples.slice(Math.floor(samples.length * WARM_UP));
  const field = (of: "heapUsed" | "rss") => {
    const points = warm.filter((sample) => sample[of] !== undefined)
      .map((sample) => [sample.requests / 1e5, (sample[of] ?? 0) / 1e6] as const);
    const fifth = Math.max(1, Math.floor(points.length / 5));
    const median = (part: typeof points) => percentile(part.map(([, y]) => y).sort((a, b) => a - b), 0.5);
    return {
      slope: fitLine(points).slope,
      medians: [median(points.slice(0, fifth)), median(points.slice(-fifth))] as const,
    };
  };
  const heap = field("heapUsed"), rss = field("rss");
  return {
    requests: (warm.at(-1)?.requests ?? 0) - (warm[0]?.requests ?? 0),
    heapUsed: heap.slope,
    rss: rss.slope,
    medians: { heapUsed: heap.medians, rss: rss.medians },
  };
}

/**
 * What a run failed for.
 *
 * @param report The run.
 * @returns One sentence for each reason, none when it held.
 */
export function judge(report: LoadReport): string[] {
  const growth = growthOf(report.samples);
  const reasons = [...report.outcomes.faults].map(([text, count]) => `${count} × ${text}`);
  reasons.push(...report.differences);
  if (growth.requests >= MIN_REQUESTS_FOR_GROWTH) {
    for (const  of of["heapUsed", "rss"] as const) {
      if (growth[of] > MAX_GROWTH[of]) {
        reasons.push(
          `${of} grew by ${growth[of].toFixed(2)} MB for each 100,000 requests, ${MAX_GROWTH[of]} are allowed`,
        );
      }
    }
  }
  const { before, after } = report.descriptors;
  if (after > before + MAX_DESCRIPTORS_LEFT) reasons.push(`${after} descriptors are open, ${before} were at the start`);
  if (report.rejections > 0) reasons.push(`${report.rejections} rejections that nobody handled`);
  if (report.exitCode !== 0) reasons.push(`the application ended with exit code ${report.exitCode}`);
  return reasons;
}
