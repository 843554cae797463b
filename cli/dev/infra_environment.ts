import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { ResolvedConfig } from "../config/config.ts";
import {
  type EnvironmentValue,
  getFixedValue,
  listVariables,
} from "../discovery/environment_value.ts";
import { AWS_PATH, LOCAL_ACCOUNT } from "./aws/aws_sink.ts";
import { CONNECTIONS_PATH } from "./socket_paths.ts";
import { S3_PATH } from "./aws/s3_target.ts";

/**
 * Returns the environment variables that the configuration gives to deployed functions, with local
 * substitutes for resources: the URL of a queue points to this server.
 *
 * @param url The base URL of this server.
 * @returns Values by name. All functions run in one process, so each name has one value.
 */
export function getInfraEnvironment(
  { infra }: ResolvedConfig,
  url: string,
): Record<string, string | undefined> {
  const values: Record<string, string | undefined> = {};
  for (const [name, value] of listVariables(infra)) values[name] ??= toLocalValue(value, url);
  return values;
}

function toLocalValue(value: EnvironmentValue, url: string): string | undefined {
  if (typeof value === "string" || "variable" in value) return getFixedValue(value);
  if ("queue" in value) return `${url}${AWS_PATH}/${LOCAL_ACCOUNT}/${value.queue}`;
  if ("topic" in value) return `arn:aws:sns:us-east-1:${LOCAL_ACCOUNT}:${value.topic}`;
  if ("bus" in value) return value.bus;
  if ("bucket" in value) return value.bucket;
  if ("websocket" in value) return `${url}${CONNECTIONS_PATH}`;
  return undefined;
}

/**
 * Returns the variable that points clients of S3 to this server, if the configuration gives buckets
 * to functions. Other projects keep the developer's settings.
 *
 * @param url The base URL of this server.
 */
export function getBucketEnvironment(
  { infra }: ResolvedConfig,
  url: string,
): Record<string, string> {
  const hasBucket = listVariables(infra).some(([, value]) =>
    typeof value === "object" && "bucket" in value
  );
  return hasBucket ? { AWS_ENDPOINT_URL_S3: `${url}${S3_PATH}` } : {};
}

/**
 * Returns variables that point the SQS, SNS and EventBridge clients to this server. Clients of
 * other services keep the developer's settings.
 *
 * @param url The base URL of this server.
 */
export function getAwsEnvironment(url: string): Record<string, string> {
  const endpoint = `${url}${AWS_PATH}`;
  const hasOwn = process.env.AWS_PROFILE !== undefined || existsSync(join(homedir(), ".aws"));
  return {
    AWS_ENDPOINT_URL_SQS: endpoint,
    AWS_ENDPOINT_URL_SNS: endpoint,
    AWS_ENDPOINT_URL_EVENTBRIDGE: endpoint,
    AWS_REGION: "us-east-1",
    AWS_ACCOUNT_ID: LOCAL_ACCOUNT,
    // clients cannot sign without credentials
    ...(hasOwn ? {} : { AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local" }),
  };
}
