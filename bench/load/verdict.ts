import type { Descriptors } from "./child_process.ts";
import { fitLine } from "./fit_line.ts";
import { percentile } from "./outcomes.ts";
import type { LoadReport, LoadSample } from "./run_load.ts";

/** What the heap may grow by, in MB for each 100,000 requests, after the warm-up. */
export const MAX_HEAP_GROWTH = 1;

/**
 * The most that resident memory may be in the end, for each MB after the warm-up. It moves with the collector's mood by tens
 * of MB, so that a line through it would say little.
 */
export const MAX_RESIDENT_RATIO = 1.25;

/**
 * Requests after which memory is looked at: until then the engine compiles and optimizes, and what the heap keeps about that
 * grows.
 */
const WARM_UP_REQUESTS = 60_000;

/** With fewer requests after the warm-up, growth says nothing. */
export const MIN_REQUESTS_FOR_GROWTH = 20_000;

/** Sockets that may be open in the end beside those at the start, and files beside those after the warm-up. */
const MAX_LEFT = { sockets: 2, others: 8 } as const;

/** How memory grew. */
export interface Growth {
  /** Requests after the warm-up. */
  readonly requests: number;
  /** MB of heap for each 100,000 requests. */
  readonly heapUsed: number;
  /** Open descriptors when it began. */
  readonly descriptors: Descriptors;
  /** Median in MB, of the first and of the last fifth after the warm-up. */
  readonly medians: {
    readonly heapUsed: readonly [number, number];
    readonly rss: readonly [number, number];
  };
}

/**
 * How memory grew after the warm-up.
 *
 * @param samples In the order in which they were taken.
 */
export function getGrowth(samples: readonly LoadSample[]): Growth {
  const total = samples.at(-1)?.requests ?? 0;
  const after = samples.filter(({ requests }) => requests >= WARM_UP_REQUESTS);
  // too short a run is shown whole, and not judged
  const warm = after.length > 0 ? after : samples;
  const heap = warm.flatMap(({ heapUsed = 0, requests }) =>
    heapUsed > 0 ? [[requests / 1e5, heapUsed / 1e6] as const] : []
  );
  return {
    requests: total - (after[0]?.requests ?? total),
    heapUsed: fitLine(heap).slope,
    descriptors: warm[0]?.descriptors ?? { sockets: 0, others: 0 },
    medians: {
      heapUsed: getMedians(heap.map(([, megabytes]) => megabytes)),
      rss: getMedians(warm.map(({ rss }) => rss / 1e6)),
    },
  };
}

/** Of the first and of the last fifth. */
function getMedians(values: readonly number[]): readonly [number, number] {
  const fifth = Math.max(1, Math.floor(values.length / 5));
  const median = (part: readonly number[]) => percentile([...part].sort((a, b) => a - b), 0.5);
  return [median(values.slice(0, fifth)), median(values.slice(-fifth))];
}

/**
 * What a run failed for.
 *
 * @param report The run.
 * @returns One sentence for each reason, none when it held.
 */
export function judge(report: LoadReport): string[] {
  const growth = getGrowth(report.samples);
  const reasons = [...report.outcomes.faults].map(([text, count]) => `${count} × ${text}`);
  reasons.push(...report.differences);
  const { before, after } = report.descriptors;
  if (growth.requests >= MIN_REQUESTS_FOR_GROWTH) {
    if (growth.heapUsed > MAX_HEAP_GROWTH) {
      reasons.push(
        `the heap grew by ${
          growth.heapUsed.toFixed(2)
        } MB for each 100,000 requests, ${MAX_HEAP_GROWTH} is allowed`,
      );
    }
    const [first, last] = growth.medians.rss;
    if (last > first * MAX_RESIDENT_RATIO) {
      reasons.push(
        `resident memory went from ${first.toFixed(0)} to ${last.toFixed(0)} MB after the warm-up`,
      );
    }
    // an embedded database keeps the files of its tables open, once it has read them
    if (after.others > growth.descriptors.others + MAX_LEFT.others) {
      reasons.push(
        `${after.others} files are open, ${growth.descriptors.others} were after the warm-up`,
      );
    }
  }
  if (after.sockets > before.sockets + MAX_LEFT.sockets) {
    reasons.push(`${after.sockets} sockets are open, ${before.sockets} were at the start`);
  }
  if (report.rejections > 0) reasons.push(`${report.rejections} rejections that nobody handled`);
  if (report.exitCode !== 0) {
    reasons.push(`the application ended with exit code ${report.exitCode}`);
  }
  return reasons;
}
