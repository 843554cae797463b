import { assert, assertEquals, assertFalse, assertThrows } from "@std/assert";
import { enterInvocation } from "../../observability/invocation_context.ts";
import { metrics, MetricUnit } from "../../observability/mod.ts";
import { captureLogs, type LogLine } from "../support/capture_logs.ts";
import { withEnv } from "../support/with_env.ts";
import { createInvocation } from "../support/invocation.ts";

const { Count, Milliseconds } = MetricUnit;

/**
 * Holds a document against CloudWatch's "Embedded metric format specification": its schema, and the limits that are
 * not in the schema.
 */
function checkDocument(document: LogLine): void {
  const { _aws: { Timestamp, CloudWatchMetrics, ...others } } = document;
  assertEquals(others, {});
  assert(Number.isInteger(Timestamp) && Timestamp > 1e12 && Timestamp < 1e13, String(Timestamp));
  assert(Array.isArray(CloudWatchMetrics) && CloudWatchMetrics.length > 0);
  for (const { Namespace, Dimensions, Metrics, ...unknown } of CloudWatchMetrics) {
    assertEquals(unknown, {});
    assert(Namespace.length >= 1 && Namespace.length <= 1024);
    for (const set of Dimensions) {
      assert(set.length >= 1 && set.length <= 30);
      assertEquals(new Set(set).size, set.length);
      for (const name of set) {
        assert(name.length >= 1 && name.length <= 250, name);
        assert(
          typeof document[name] === "string" && document[name].length >= 1 &&
            document[name].length <= 1024,
          name,
        );
      }
    }
    assert(Metrics.length >= 1 && Metrics.length <= 100);
    const units = new Set<string>(Object.values(MetricUnit));
    for (const { Name, Unit, ...more } of Metrics) {
      assertEquals(more, {});
      assert(Name.length >= 1 && Name.length <= 1024 && units.has(Unit));
      const values = [document[Name]].flat();
      assert(values.length >= 1 && values.length <= 100);
      assert(values.every((value: unknown) => typeof value === "number" && Number.isFinite(value)));
    }
  }
}

async function getDocuments(fn: () => void): Promise<LogLine[]> {
  const { lines } = await captureLogs(() => enterInvocation(createInvocation(), fn));
  for (const line of lines) checkDocument(line);
  return lines;
}

Deno.test("metrics.addMetric() takes each of MetricUnit, and nothing that only looks like one", async () => {
  for (const unit of Object.values(MetricUnit)) {
    const [{ _aws }] = await getDocuments(() => metrics.addMetric("A", unit, 1));
    assertEquals(_aws.CloudWatchMetrics[0].Metrics, [{ Name: "A", Unit: unit }]);
  }
  for (
    const unit of [
      "seconds",
      "Kiloseconds",
      "bytes",
      "KiloBytes",
      "Seconds/Second",
      "Percent/Second",
      "None ",
      "",
    ]
  ) {
    assertThrows(
      () => metrics.addMetric("A", unit as MetricUnit, 1),
      TypeError,
      `${unit} is no metric unit`,
    );
  }
});

Deno.test("metrics.addMetric() collects into one document of an invocation", async () => {
  await withEnv({ SERVICE_NAME: "notes", METRICS_NAMESPACE: "Shop" }, async () => {
    const documents = await getDocuments(() => {
      metrics.addMetric("NotesCreated", Count, 1);
      metrics.addMetric("Duration", Milliseconds, 1.5);
      metrics.addMetric("Duration", Milliseconds, 2.5);
    });
    assertEquals(documents.length, 1);
    const { _aws, ...values } = documents[0];
    assertEquals(values, { service: "notes", NotesCreated: 1, Duration: [1.5, 2.5] });
    assertEquals(_aws.CloudWatchMetrics, [{
      Namespace: "Shop",
      Dimensions: [["service"]],
      Metrics: [{ Name: "NotesCreated", Unit: "Count" }, {
        Name: "Duration",
        Unit: "Milliseconds",
      }],
    }]);
  });
});

Deno.test("metrics.addMetric() outside of an invocation writes a document at once", async () => {
  const { writes, lines } = await captureLogs(() => {
    metrics.addMetric("A", Count, 1);
    metrics.addMetric("B", Count, 2);
  });
  assertEquals(writes.length, 2);
  lines.forEach(checkDocument);
});

Deno.test("metrics are left out when METRICS_DISABLED is true, inside and outside of an invocation", async () => {
  await withEnv({ METRICS_DISABLED: "true" }, async () => {
    const { lines } = await captureLogs(async () => {
      metrics.addMetric("Outside", Count, 1);
      await enterInvocation(createInvocation(), () => metrics.addMetric("Inside", Count, 1));
    });
    assertEquals(lines, []);
  });
});

Deno.test("metrics.addDimension() holds for what addMetric() adds after it", async () => {
  const documents = await getDocuments(() => {
    metrics.addMetric("A", Count, 1);
    metrics.addDimension("tenant", "a");
    metrics.addDimensions({ plan: "free", tenant: "b" });
    metrics.addMetric("A", Count, 2);
  });
  assertEquals(documents.map(({ A, tenant, plan }) => [A, tenant, plan]), [[
    1,
    undefined,
    undefined,
  ], [
    2,
    "b",
    "free",
  ]]);
  assertEquals(documents[1]._aws.CloudWatchMetrics[0].Dimensions, [["service", "tenant", "plan"]]);
});

Deno.test("metrics.addMetricsWithDimensions() has its own dimensions", async () => {
  const documents = await getDocuments(() => {
    metrics.addDimension("tenant", "a");
    metrics.addMetricsWithDimensions({ query: "q1" }, [["Duration", Milliseconds, 1], [
      "Errors",
      Count,
      0,
    ]]);
    metrics.addMetricsWithDimensions({ query: "q1" }, [["Duration", Milliseconds, 2]]);
    metrics.addMetricsWithDimensions({ query: "q2" }, [["Duration", Milliseconds, 3]]);
  });
  assertEquals(
    documents.map(({ query, Duration, Errors, tenant }) => ({ query, Duration, Errors, tenant })),
    [
      { query: "q1", Duration: [1, 2], Errors: 0, tenant: undefined },
      { query: "q2", Duration: 3, Errors: undefined, tenant: undefined },
    ],
  );
});

Deno.test("metrics keep within 100 metrics and 100 values a document, and lose none", async () => {
  const documents = await getDocuments(() => {
    for (let i = 0; i < 205; i++) metrics.addMetric(`Metric${i}`, Count, i);
    for (let i = 0; i < 250; i++) metrics.addMetric("Many", Count, i);
  });
  const seen: Record<string, number[]> = {};
  for (const document of documents) {
    for (const { Name } of document._aws.CloudWatchMetrics[0].Metrics) {
      (seen[Name] ??= []).push(...[document[Name]].flat());
    }
  }
  assertEquals(Object.keys(seen).length, 206);
  assertEquals(seen.Many, Array.from({ length: 250 }, (_, i) => i));
});

Deno.test("metrics keep units apart from one name set to another", async () => {
  const [first] = await getDocuments(() => metrics.addMetric("Size", MetricUnit.Bytes, 1));
  const [second] = await getDocuments(() => metrics.addMetric("Size", MetricUnit.Kilobytes, 1));
  assertEquals([first, second].map((d) => d._aws.CloudWatchMetrics[0].Metrics[0].Unit), [
    "Bytes",
    "Kilobytes",
  ]);
});

Deno.test("metrics.addMetric() leaves a value out that is not finite, with a warning", async () => {
  for (
    const value of [
      NaN,
      Infinity,
      -Infinity,
      undefined as unknown as number,
      "7" as unknown as number,
    ]
  ) {
    const { lines } = await captureLogs(() =>
      enterInvocation(createInvocation(), () => metrics.addMetric("A", Count, value))
    );
    assertEquals(lines.map((line) => [line.level, line.metric, line.value]), [[
      "WARN",
      "A",
      String(value),
    ]]);
    const outside = await captureLogs(() => metrics.addMetric("A", Count, value));
    assertEquals(outside.lines.length, 1);
  }
});

const BAD_NAMES: unknown[] = ["", "  ", "x".repeat(1025), 7, undefined, null, "service", "_aws"];

Deno.test("metrics.addMetric() refuses a name that is none and says so", () => {
  for (const name of BAD_NAMES) {
    const error = assertThrows(
      () => metrics.addMetric(name as string, Count, 1),
      TypeError,
      "metric's name",
    );
    assert(error.message.length < 200);
  }
});

Deno.test("metrics.addMetric() refuses a unit that is none and names it", () => {
  assertThrows(
    () => metrics.addMetric("A", "Parsec" as MetricUnit, 1),
    TypeError,
    "Parsec is no metric unit",
  );
});

const BAD_DIMENSIONS: unknown[][] = [
  ["", "x"],
  [" ", "x"],
  ["a".repeat(251), "x"],
  ["a", ""],
  ["a", "x".repeat(1025)],
  ["a", 7],
  ["a", undefined],
  ["service", "x"],
  ["_aws", "x"],
];

Deno.test("metrics refuse a dimension whose name or value is none", async () => {
  await enterInvocation(createInvocation(), () => {
    for (const [name, value] of BAD_DIMENSIONS) {
      const dimensions = { [name as string]: value as string };
      assertThrows(
        () => metrics.addDimensions(dimensions),
        TypeError,
        "dimension",
        JSON.stringify(dimensions),
      );
      assertThrows(
        () => metrics.addMetricsWithDimensions(dimensions, [["A", Count, 1]]),
        TypeError,
        "dimension",
      );
    }
  });
});

Deno.test("metrics take 29 dimensions beside service and refuse the 30th", async () => {
  const dimensions = Object.fromEntries(Array.from({ length: 29 }, (_, i) => [`d${i}`, "x"]));
  await getDocuments(() => {
    metrics.addDimensions(dimensions);
    assertThrows(() => metrics.addDimension("one-more", "x"), RangeError, "at most 30 dimensions");
    metrics.addMetric("A", Count, 1);
  });
});

Deno.test("metrics refuse a metric that has the name of one of its dimensions", () => {
  assertThrows(
    () => metrics.addMetricsWithDimensions({ tenant: "a" }, [["tenant", Count, 1]]),
    TypeError,
    "tenant",
  );
});

Deno.test("metrics.addDimension() outside of an invocation says what to do instead", () => {
  assertThrows(() => metrics.addDimension("a", "b"), TypeError, "addMetricsWithDimensions");
});

Deno.test("metrics write one line for each document, for any names and values", async () => {
  const hostile = 'x\n{"_aws":{}}\u001b[2J"';
  const { writes } = await captureLogs(() =>
    enterInvocation(createInvocation(), () => {
      metrics.addMetricsWithDimensions({ [hostile]: hostile, ["__proto__"]: "p" }, [[
        "A",
        Count,
        1,
      ]]);
      metrics.addMetric(`${hostile}2`, Count, 1);
      metrics.addMetric("A", Count, 2);
    })
  );
  const lines = writes[0].trimEnd().split("\n");
  assertEquals(lines.length, 2);
  assertFalse(writes[0].includes("\u001b"));
  lines.map((line) => checkDocument(JSON.parse(line)));
});
