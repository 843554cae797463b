import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { type LoggingConfig, withObservability } from "../../core/mod.ts";
import { logInfo, metrics, MetricUnit } from "../../observability/mod.ts";
import { createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { captureLogs, type LogLine } from "../support/capture_logs.ts";
import { testSeed } from "../support/seed.ts";
import { withEnv } from "../support/with_env.ts";

const { Count, Milliseconds } = MetricUnit;

const recordQuery = (queryName: string) => (durationMs: number, errors: number) =>
  metrics.addMetricsWithDimensions({ queryName }, [
    ["QueryDuration", Milliseconds, durationMs],
    ["QueryErrors", Count, errors],
  ]);

/** Runs a handler after the first invocation of the process. */
async function runHandler(fn: () => void, logging?: LoggingConfig): Promise<LogLine[]> {
  const options = { operationName: "Op", tracing: false, logging };
  const handler = withObservability(fn, options);
  const event = createRestApiEvent({});
  const context = createLambdaContext({ awsRequestId: "r-1" });
  const first = withObservability(() => {}, { logging: { level: "SILENT" }, metrics: false });
  await first(event, context);
  return (await captureLogs(() => handler(event, context))).lines;
}

/** A value as CloudWatch stores it: namespace, dimensions and unit beside name and value. */
type Sample = readonly [namespace: string, dimensions: string, name: string, unit: string, number];

/**
 * Extracts metrics as CloudWatch does ("Embedded metric format specification"): each directive of
 * `_aws.CloudWatchMetrics` names members of the root for its dimensions and metrics.
 */
function extract(line: LogLine): Sample[] {
  const samples: Sample[] = [];
  for (const { Namespace, Dimensions, Metrics } of line._aws?.CloudWatchMetrics ?? []) {
    for (const set of Dimensions as string[][]) {
      const dimensions = JSON.stringify(set.map((name) => {
        assert(typeof line[name] === "string", name);
        return [name, line[name]];
      }));
      for (const { Name, Unit } of Metrics) {
        for (const value of [line[Name]].flat()) {
          assert(typeof value === "number", Name);
          samples.push([Namespace, dimensions, Name, Unit, value]);
        }
      }
    }
  }
  return samples;
}

const withoutTimes = (samples: Sample[]) =>
  samples.filter(([, , name]) => name !== "Duration").map((sample) => sample.slice(1));

Deno.test("an invocation writes its outcome and the metrics of a query in one document", async () => {
  const lines = await runHandler(() => recordQuery("findNote")(3, 0));
  assertEquals(lines.map((line) => "_aws" in line), [false, true]);
  assertEquals(withoutTimes(extract(lines[1])), [
    [
      '[["service","service_undefined"],["queryName","findNote"]]',
      "QueryDuration",
      "Milliseconds",
      3,
    ],
    ['[["service","service_undefined"],["queryName","findNote"]]', "QueryErrors", "Count", 0],
  ]);
});

Deno.test("an invocation writes a second document for a dimension with another value", async () => {
  const lines = await runHandler(() => {
    recordQuery("findSession")(1, 0);
    recordQuery("findNote")(2, 0);
    metrics.addMetric("NotesRead", Count, 1);
    metrics.addMetricsWithDimensions({ operationName: "Op" }, [["Replays", Count, 1]]);
  });
  assertEquals(lines.length, 3);
  assertEquals(lines.map((line) => line.queryName), [undefined, "findSession", "findNote"]);
  assertEquals([lines[1].NotesRead, lines[1].Replays, lines[1].operationName], [1, 1, "Op"]);
});

Deno.test("METRICS_IN_SUMMARY writes the summary and its metrics as one line", async () => {
  await withEnv({ METRICS_IN_SUMMARY: "true" }, async () => {
    const lines = await runHandler(() => {
      logInfo("note read");
      recordQuery("findNote")(3, 0);
    });
    assertEquals(lines.map(({ message }) => message), ["note read", "request completed"]);
    const { function_request_id, operation, queryName, QueryDuration } = lines[1];
    assertEquals([function_request_id, operation, queryName, QueryDuration], [
      "r-1",
      "Op",
      "findNote",
      3,
    ]);
    assertEquals(extract(lines[1]).map(([, , name]) => name), [
      "QueryDuration",
      "QueryErrors",
      "Duration",
    ]);
  });
});

Deno.test("METRICS_IN_SUMMARY keeps two lines if the summary has a field of the same name", async () => {
  await withEnv({ METRICS_IN_SUMMARY: "true" }, async () => {
    const lines = await runHandler(() => {}, { fields: { Duration: "long" } });
    assertEquals(lines.map((line) => ["_aws" in line, typeof line.Duration]), [
      [false, "string"],
      [true, "number"],
    ]);
  });
});

Deno.test("METRICS_IN_SUMMARY writes the failure of a handler with its metrics", async () => {
  await withEnv({ METRICS_IN_SUMMARY: "true" }, async () => {
    const { lines } = await captureLogs(async () => {
      const handler = withObservability(() => {
        throw new Error("down");
      }, { operationName: "Op", respondToError: () => undefined as never });
      await handler(createRestApiEvent({}), createLambdaContext());
    });
    assertEquals(lines.map(({ level, Errors }) => [level, Errors]), [["ERROR", 1]]);
  });
});

Deno.test("METRICS_IN_SUMMARY writes summaries without metrics, and metrics without a summary", async () => {
  await withEnv({ METRICS_IN_SUMMARY: "true" }, async () => {
    const silent = await runHandler(() => {}, { summary: false });
    assertEquals(silent.map(({ message, Duration }) => [message, typeof Duration]), [[
      undefined,
      "number",
    ]]);
    await withEnv({ METRICS_DISABLED: "true" }, async () => {
      const lines = await runHandler(() => recordQuery("findNote")(3, 0));
      assertEquals(lines.map((line) => [line.message, "_aws" in line]), [
        ["request completed", false],
      ]);
    });
  });
});

const NAMES = ["Duration", "Errors", "level", "status", "operation", "queryName", "a", "__proto__"];
const DIMENSIONS = ["operationName", "queryName", "Duration", "level", "toString", "b"];

const generatedMetrics = fc.array(
  fc.record({
    name: fc.constantFrom(...NAMES),
    dimensions: fc.dictionary(fc.constantFrom(...DIMENSIONS), fc.constantFrom("Op", "x")),
    value: fc.integer({ min: 1, max: 9 }),
  }).filter(({ name, dimensions }) => !Object.hasOwn(dimensions, name)),
  { maxLength: 6 },
);

Deno.test("documents give CloudWatch every value with its dimensions, for any names", async () => {
  const property = fc.asyncProperty(generatedMetrics, fc.boolean(), async (added, inSummary) => {
    const lines = await withEnv(
      { METRICS_IN_SUMMARY: String(inSummary) },
      () =>
        runHandler(() => {
          for (const { name, dimensions, value } of added) {
            metrics.addMetricsWithDimensions(dimensions, [[name, Count, value]]);
          }
        }),
    );
    const expected = added.map(({ name, dimensions, value }) => {
      const set = [["service", "service_undefined"], ...Object.entries(dimensions)];
      return JSON.stringify(["Trellis", JSON.stringify(set), name, "Count", value]);
    });
    const samples = lines.flatMap(extract).filter((sample) => !isOutcome(sample));
    assertEquals(samples.map((each) => JSON.stringify(each)).sort(), expected.sort());
    assertEquals(lines.filter(({ message }) => message === "request completed").length, 1);
  });
  await fc.assert(property, {
    seed: testSeed,
    numRuns: Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 20_000 : 500,
  });
});

function isOutcome([, dimensions, name, unit, value]: Sample): boolean {
  return dimensions === '[["service","service_undefined"],["operationName","Op"]]' &&
    (name === "Duration" && unit === Milliseconds || name === "Errors" && value === 0);
}
