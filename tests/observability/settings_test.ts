import { assertEquals } from "@std/assert";
import { LOG_LEVELS } from "../../observability/log_level.ts";
import { getSettings, type ObservabilitySettings } from "../../observability/settings.ts";
import { withEnv } from "../support/with_env.ts";

const UNSET = {
  SERVICE_NAME: undefined,
  POWERTOOLS_SERVICE_NAME: undefined,
  AWS_LAMBDA_FUNCTION_NAME: undefined,
  METRICS_NAMESPACE: undefined,
  POWERTOOLS_METRICS_NAMESPACE: undefined,
  LOG_LEVEL: undefined,
  POWERTOOLS_LOG_LEVEL: undefined,
  AWS_LAMBDA_LOG_LEVEL: undefined,
  AWS_EXECUTION_ENV: undefined,
  METRICS_DISABLED: undefined,
  POWERTOOLS_METRICS_DISABLED: undefined,
};

const { INFO, WARN, DEBUG, ERROR } = LOG_LEVELS;

/** Variables, and what they make of the settings. A Lambda sandbox keeps its settings: those run in a child process. */
const CASES: [Record<string, string>, Partial<ObservabilitySettings>][] = [
  [{}, {
    service: "service_undefined",
    namespace: "Trellis",
    level: INFO,
    unknownLevel: undefined,
  }],
  [{ AWS_LAMBDA_FUNCTION_NAME: "fn" }, { service: "fn" }],
  [{ AWS_LAMBDA_FUNCTION_NAME: "fn", POWERTOOLS_SERVICE_NAME: "p" }, { service: "p" }],
  [{ POWERTOOLS_SERVICE_NAME: "p", SERVICE_NAME: "s" }, { service: "s" }],
  [{ POWERTOOLS_METRICS_NAMESPACE: "p" }, { namespace: "p" }],
  [{ POWERTOOLS_METRICS_NAMESPACE: "p", METRICS_NAMESPACE: "n" }, { namespace: "n" }],
  [{ AWS_LAMBDA_LOG_LEVEL: "error" }, { level: ERROR }],
  [{ AWS_LAMBDA_LOG_LEVEL: "error", POWERTOOLS_LOG_LEVEL: "WARN" }, { level: WARN }],
  [{ POWERTOOLS_LOG_LEVEL: "WARN", LOG_LEVEL: "debug" }, { level: DEBUG }],
  [{ LOG_LEVEL: "verbose" }, { level: INFO, unknownLevel: "verbose" }],
  [{}, { metricsDisabled: false }],
  [{ POWERTOOLS_METRICS_DISABLED: "TRUE" }, { metricsDisabled: true }],
  [{ POWERTOOLS_METRICS_DISABLED: "true", METRICS_DISABLED: "false" }, { metricsDisabled: false }],
];

for (const [variables, expected] of CASES) {
  Deno.test(`getSettings() reads ${JSON.stringify(variables)}`, async () => {
    await withEnv({ ...UNSET, ...variables }, () => {
      const settings = getSettings();
      for (const [name, value] of Object.entries(expected)) {
        assertEquals<unknown>(settings[name as keyof ObservabilitySettings], value, name);
      }
    });
  });
}

async function readInChild(variables: Record<string, string>): Promise<unknown> {
  const program = `
    import { getSettings } from ${
    JSON.stringify(new URL("../../observability/settings.ts", import.meta.url).href)
  };
    const { service } = getSettings();
    Deno.env.set("SERVICE_NAME", "changed later");
    console.log(JSON.stringify({ service, later: getSettings().service }));`;
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-lock", "--ext=ts", program],
    env: { SERVICE_NAME: "first", ...variables },
    cwd: new URL("../..", import.meta.url),
  }).output();
  return JSON.parse(new TextDecoder().decode(output.stdout));
}

Deno.test("getSettings() in a Lambda sandbox reads the environment once", async () => {
  const variables = { AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x" };
  assertEquals(await readInChild(variables), {
    service: "first",
    later: "first",
  });
});
