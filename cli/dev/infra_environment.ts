import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { ResolvedConfig } from "../config/config.ts";
import type { EnvironmentValue } from "../config/infra.ts";
import { AWS_PATH, LOCAL_ACCOUNT } from "./aws_sink.ts";

/**
 * The environment that the configuration gives deployed functions, with local stand-ins for parts of the infrastructure: a
 * queue's URL leads to this server. A bucket is only a name, since nothing here stands in for one.
 *
 * @param config The configuration.
 * @param url Where this server is reached.
 * @returns Values by name. All functions run in one process, so a name has one value.
 */
export function infraEnvironment(
  { infra }: ResolvedConfig,
  url: string,
): Record<string, string | undefined> {
  const values: Record<string, string | undefined> = {};
  const all = [
    infra.environment,
    ...Object.values(infra.functions).map(({ environment }) => environment ?? {}),
  ];
  for (const [name, value] of all.flatMap((each) => Object.entries(each))) {
    values[name] ??= toLocalValue(value, url);
  }
  return values;
}

function toLocalValue(value: EnvironmentValue, url: string): string | undefined {
  if (typeof value === "string") return value;
  if ("queue" in value) return `${url}${AWS_PATH}/${LOCAL_ACCOUNT}/${value.queue}`;
  if ("topic" in value) return `arn:aws:sns:us-east-1:${LOCAL_ACCOUNT}:${value.topic}`;
  if ("bus" in value) return value.bus;
  if ("bucket" in value) return value.bucket;
  if ("variable" in value) return value.default;
  return undefined;
}

/**
 * Leads AWS clients that send messages here; those of other services go where the developer's own settings lead them.
 *
 * @param url Where this server is reached.
 */
export function awsEnvironment(url: string): Record<string, string> {
  const endpoint = `${url}${AWS_PATH}`;
  const hasOwn = process.env.AWS_PROFILE !== undefined || existsSync(join(homedir(), ".aws"));
  return {
    AWS_ENDPOINT_URL_SQS: endpoint,
    AWS_ENDPOINT_URL_SNS: endpoint,
    AWS_ENDPOINT_URL_EVENTBRIDGE: endpoint,
    AWS_REGION: "us-east-1",
    AWS_ACCOUNT_ID: LOCAL_ACCOUNT,
    // clients refuse to sign with nothing
    ...(hasOwn ? {} : { AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" }),
  };
}
