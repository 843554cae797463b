// Answers each line of its standard input with the rows of a query, or the error.
import { executeRows, getDrizzleClient } from "@trellis/fn/database";
import { sql } from "@trellis/fn/database/orm";
import process from "node:process";
import { createInterface } from "node:readline";

const { config, port } = JSON.parse(process.argv[2]);
if (config.provider === "branching-pg") {
  const { neonConfig } = await import("@neondatabase/serverless");
  Object.assign(neonConfig, {
    useSecureWebSocket: false,
    pipelineConnect: false,
    forceDisablePgSSL: true,
    wsProxy: () => `127.0.0.1:${port}/v2`,
  });
}
for await (const _line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = await executeRows(await getDrizzleClient(config), sql`SELECT 1 AS one`);
  } catch (error) {
    answer = String(error.cause ?? error);
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit();
