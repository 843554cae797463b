import { percentile } from "./outcomes.ts";
import type { LoadReport } from "./run_load.ts";
import {
  getGrowth,
  judge,
  MAX_HEAP_GROWTH,
  MAX_RESIDENT_RATIO,
  MIN_REQUESTS_FOR_GROWTH,
} from "./verdict.ts";

/**
 * A run as a page in Markdown.
 *
 * @param report The run.
 */
export function renderReport(report: LoadReport): string {
  const { outcomes, seconds, options, descriptors, downTimes } = report;
  const growth = getGrowth(report.samples);
  const reasons = judge(report);
  const [heapFirst, heapLast] = growth.medians.heapUsed, [rssFirst, rssLast] = growth.medians.rss;
  const judged = growth.requests >= MIN_REQUESTS_FOR_GROWTH
    ? ""
    : ", too few requests after the warm-up to judge";
  const downMs = downTimes.map(({ from, until = from }) => until - from).sort((a, b) => a - b);
  const lines = [
    `database ${options.database}, ${seconds.toFixed(0)} s, ${outcomes.total} requests (${
      (outcomes.total / seconds).toFixed(0)
    }/s), seed ${options.seed}`,
    "",
    "| what | figure |",
    "| --- | --- |",
    ...[
      [
        "answers that must not be",
        String([...outcomes.faults.values()].reduce((a, b) => a + b, 0)),
      ],
      ...downTimes.length === 0 ? [] : [
        [
          "restarts of the database",
          `${downTimes.length}, down for ${downMs[0].toFixed(0)} to ${
            downMs.at(-1)?.toFixed(0)
          } ms`,
        ],
        ["answered with an error while it was down", String(outcomes.duringOutage)],
      ],
      [
        "acknowledged notes, deliveries, users",
        `${report.acknowledged}; ${report.unsure} writes of unknown outcome`,
      ],
      ["rows lost, doubled or half written", report.differences.join("; ") || "0"],
      [
        "heap after collection",
        `${heapFirst.toFixed(1)} → ${heapLast.toFixed(1)} MB; ${
          slope(growth.heapUsed)
        } (at most ${MAX_HEAP_GROWTH})${judged}`,
      ],
      [
        "resident memory",
        `${rssFirst.toFixed(0)} → ${
          rssLast.toFixed(0)
        } MB (at most ${MAX_RESIDENT_RATIO} ×)${judged}`,
      ],
      [
        "sockets; files",
        (["sockets", "others"] as const).map((kind) => {
          const most = Math.max(0, ...report.samples.map((sample) => sample.descriptors[kind]));
          return `${descriptors.before[kind]} before, at most ${most}, ${
            descriptors.after[kind]
          } after`;
        }).join("; "),
      ],
      ["unhandled rejections", String(report.rejections)],
      ["exit code", String(report.exitCode)],
      ["log lines", entries(report.logLevels)],
      ["errors in the log", entries(report.complaints, 12) || "none"],
    ].map(([what, figure]) => `| ${what} | ${figure} |`),
    "",
    "| request | count | results | p50 ms | p90 ms | p99 ms | max ms |",
    "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ...outcomes.rows().map(({ kind, count, results, latencies }) => {
      const sorted = [...latencies].sort((a, b) => a - b);
      const figures = [0.5, 0.9, 0.99, 1].map((share) => percentile(sorted, share).toFixed(1));
      return `| ${kind} | ${count} | ${entries(results)} | ${figures.join(" | ")} |`;
    }),
    "",
    ...reasons.length === 0 ? ["held"] : ["FAILED:", ...reasons.map((reason) => `- ${reason}`)],
  ];
  return lines.join("\n");
}

function slope(value: number): string {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)} MB for each 100,000 requests`;
}

function entries(map: ReadonlyMap<number | string, number>, limit = Infinity): string {
  const sorted = [...map].sort(([, a], [, b]) => b - a);
  const shown = sorted.slice(0, limit).map(([key, count]) =>
    `${String(key).slice(0, 120)}: ${count}`
  );
  return [...shown, ...sorted.length > limit ? [`${sorted.length - limit} more`] : []].join(", ");
}
