import { assertEquals, assertStringIncludes } from "@std/assert";
import { closeDrizzleClient, getDrizzleClient, withQueryMetrics } from "../../database/mod.ts";
import { createLambdaContext, createRestApiEvent } from "../../testing/mod.ts";
import { defineApiHandler } from "../../validation/mod.ts";
import { captureLogs, type LogLine } from "../support/capture_logs.ts";
import { withEnv } from "../support/with_env.ts";

const OPERATIONS = 21;

/** Runs each operation with its query, well and badly, and one connection. */
async function runService(): Promise<LogLine[]> {
  const { lines } = await captureLogs(async () => {
    for (let number = 0; number < OPERATIONS; number++) {
      const handler = defineApiHandler({ operationName: `Operation${number}` })(
        async function run({ event }) {
          const isBad = event.path === "/bad";
          await withQueryMetrics(`query${number}`, () => {
            if (isBad) throw Object.assign(new Error("conflict"), { code: "40001" });
          }, { retry: { maxRetries: 1, baseDelayMs: 1 } });
          return { statusCode: 204, body: "" };
        },
      );
      for (const path of ["/good", "/bad"]) {
        await handler(createRestApiEvent({ path }), createLambdaContext());
      }
    }
    const config = { provider: "embedded-pg", connectionString: "memory://" } as const;
    await getDrizzleClient(config);
    await closeDrizzleClient(config);
  });
  return lines;
}

/** Lists the metrics that CloudWatch bills: each name with each value of its dimensions. */
function listBilled(lines: readonly LogLine[]): Set<string> {
  const billed = new Set<string>();
  for (const line of lines) {
    for (const { Dimensions, Metrics } of line._aws?.CloudWatchMetrics ?? []) {
      for (const { Name } of Metrics) {
        for (const names of Dimensions) {
          billed.add([Name, ...names.map((name: string) => `${name}=${line[name]}`)].join(" "));
        }
      }
    }
  }
  return billed;
}

/** Metrics of cold starts and failed connections, which this run need not have, and how many there can be. */
const RARE = { ColdStart: OPERATIONS, DatabaseConnectErrors: 1 };

/** Counts the metrics that a service can have at most. */
function countAtMost(billed: Set<string>, rare: Readonly<Record<string, number>>): number {
  const usual = [...billed].filter((each) => !Object.hasOwn(rare, each.split(" ")[0]));
  return Object.values(rare).reduce((sum, count) => sum + count, usual.length);
}

Deno.test("METRICS_DIMENSIONS=service costs at most 10 metrics, and the guide's table has what the code emits", async () => {
  await withEnv({ SERVICE_NAME: "notes" }, async () => {
    const detailed = countAtMost(listBilled(await runService()), RARE);
    const lines = await withEnv({ METRICS_DIMENSIONS: "service" }, runService);
    const least = countAtMost(listBilled(lines), { ColdStart: 1, DatabaseConnectErrors: 1 });
    assertEquals(least <= 10, true, String(least));
    // the rest are fields, which Logs Insights finds
    const queries = new Set(lines.map(({ queryName }) => queryName).filter(Boolean));
    assertEquals(queries.size, OPERATIONS);

    const file = new URL("../../docs/guides/observability.md", import.meta.url);
    const usd = (count: number) => `${count}, ${(count * 0.3).toFixed(2)} USD`;
    assertStringIncludes(await Deno.readTextFile(file), `| ${usd(detailed)} | ${usd(least)} |`);
  });
});
