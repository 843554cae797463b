#!/usr/bin/env -S deno run --allow-read --allow-env
// deno-lint-ignore-file no-console
/**
 * Checks every Terraform module against the project's own policy, without Terraform and without a
 * cloud:
 *
 *   deno run -A scripts/check_terraform_policy.ts [--json]
 *
 * A `*` as an action, a resource or a principal needs a comment `# policy: why` on its line. Exits
 * with 1 if there are faults.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import {
  blocks,
  type HclBlock,
  MODULE_NAMES,
  readTerraformModule,
  type TerraformModule,
  type TerraformObject,
} from "./terraform_module.ts";

/** A violation of the policy. */
export interface PolicyFault {
  readonly module: string;
  readonly rule: string;
  readonly message: string;
}

type Rule = (module: TerraformModule) => Iterable<string>;

/** Rules by name. Each yields its findings. */
const RULES: Readonly<Record<string, Rule>> = {
  versions,
  described,
  wildcards,
  "public-access": publicAccess,
  encryption,
  tls,
  retention,
  permissions,
  "request-logs": requestLogs,
};

/** Checks one module against every rule. */
export function checkTerraformPolicy(module: TerraformModule): PolicyFault[] {
  return Object.entries(RULES).flatMap(([rule, find]) =>
    [...find(module)].map((message) => ({ module: module.name, rule, message }))
  );
}

function* versions(module: TerraformModule): Iterable<string> {
  if (!/^>= 1\.(9|[1-9]\d)/.test(module.requiredVersion)) {
    yield `required_version is "${module.requiredVersion}"; it must be at least 1.9`;
  }
  if (module.providers.aws?.version !== ">= 6.0, < 7.0") {
    yield `the aws provider is "${module.providers.aws?.version}"; it must be ">= 6.0, < 7.0"`;
  }
  for (const name of Object.keys(module.providers)) {
    if (name !== "aws" && name !== "archive") {
      yield `the provider ${name} is not allowed; aws and archive are`;
    }
  }
  for (const name of module.providerBlocks) {
    yield `a provider block (${name}) would take the choice from the caller`;
  }
  for (const [file, text] of module.sources) {
    if (/^\s*provisioner\s/m.test(text)) yield `${file} runs commands at apply (provisioner)`;
  }
}

function* described(module: TerraformModule): Iterable<string> {
  for (const { name, description, type } of module.variables) {
    if (description === "") yield `variable ${name} has no description`;
    if (type === "" || /\bany\b/.test(type)) yield `variable ${name} has no exact type`;
  }
  for (const { name, description } of module.outputs) {
    if (description === "") yield `output ${name} has no description`;
  }
}

function* wildcards(module: TerraformModule): Iterable<string> {
  for (const [file, text] of module.sources) {
    if (file === "variables.tf") continue; // inputs of the module, not permissions
    for (const [index, line] of text.split("\n").entries()) {
      const [content, comment = ""] = splitComment(line);
      // A comparison with "*" grants nothing.
      const grants = content.replace(/[!=]=\s*"\*"/g, "");
      if (/"(\*|[a-z0-9-]+:[A-Za-z]*\*)"/.test(grants) && !/^# policy: \S.{10}/.test(comment)) {
        yield `${file}:${
          index + 1
        } has a wildcard without a comment "# policy: why": ${line.trim()}`;
      }
    }
  }
}

function* publicAccess(module: TerraformModule): Iterable<string> {
  for (const { type, name } of module.resources) {
    if (type === "aws_s3_bucket_acl") {
      yield `${type}.${name}: access lists are off; policies decide`;
    }
  }
  for (const [file, text] of module.sources) {
    if (/"(public-read|public-read-write|authenticated-read)"/.test(text)) {
      yield `${file} names a public access list`;
    }
  }
  for (const bucket of ofType(module, "aws_s3_bucket")) {
    const block = companion(module, bucket, "aws_s3_bucket_public_access_block");
    const flags = [
      "block_public_acls",
      "block_public_policy",
      "ignore_public_acls",
      "restrict_public_buckets",
    ];
    for (const flag of flags) {
      if (block?.body[flag] !== true) yield `aws_s3_bucket.${bucket.name}: ${flag} is not set`;
    }
    const ownership = companion(module, bucket, "aws_s3_bucket_ownership_controls");
    if (blocks(ownership?.body.rule)[0]?.object_ownership !== "BucketOwnerEnforced") {
      yield `aws_s3_bucket.${bucket.name}: object_ownership is not BucketOwnerEnforced`;
    }
  }
}

function* encryption(module: TerraformModule): Iterable<string> {
  for (const { name, body } of ofType(module, "aws_sqs_queue")) {
    if (!("sqs_managed_sse_enabled" in body) && !("kms_master_key_id" in body)) {
      yield `aws_sqs_queue.${name} is not encrypted`;
    }
  }
  for (const { name, body } of ofType(module, "aws_sns_topic")) {
    if (!("kms_master_key_id" in body)) yield `aws_sns_topic.${name} is not encrypted`;
  }
  for (const { name, body } of ofType(module, "aws_dynamodb_table")) {
    if (blocks(body.server_side_encryption)[0]?.enabled !== true) {
      yield `aws_dynamodb_table.${name} is not encrypted`;
    }
  }
  for (const bucket of ofType(module, "aws_s3_bucket")) {
    if (
      companion(module, bucket, "aws_s3_bucket_server_side_encryption_configuration") === undefined
    ) {
      yield `aws_s3_bucket.${bucket.name} is not encrypted`;
    }
  }
  for (const { name, body } of ofType(module, "aws_kms_key")) {
    if (body.enable_key_rotation !== true) yield `aws_kms_key.${name} does not rotate`;
  }
}

/** Resources with data, and the policy that must reject plain HTTP. */
const TLS_POLICIES: Readonly<Record<string, string>> = {
  aws_sqs_queue: "aws_sqs_queue_policy",
  aws_sns_topic: "aws_sns_topic_policy",
  aws_s3_bucket: "aws_s3_bucket_policy",
};

function* tls(module: TerraformModule): Iterable<string> {
  const text = [...module.sources.values()].join("\n");
  for (const [type, policyType] of Object.entries(TLS_POLICIES)) {
    for (const object of ofType(module, type)) {
      if (
        companion(module, object, policyType) === undefined ||
        !text.includes('"aws:SecureTransport" = "false"')
      ) {
        yield `${type}.${object.name} has no ${policyType} that refuses plain HTTP`;
      }
    }
  }
  for (const { name, body } of ofType(module, "aws_cloudfront_distribution")) {
    for (
      const behavior of [
        ...blocks(body.default_cache_behavior),
        ...blocks(body.ordered_cache_behavior),
      ]
    ) {
      if (!["https-only", "redirect-to-https"].includes(String(behavior.viewer_protocol_policy))) {
        yield `aws_cloudfront_distribution.${name} serves viewers over plain HTTP`;
      }
    }
    for (
      const origin of blocks(body.origin).flatMap((block) => blocks(block.custom_origin_config))
    ) {
      if (origin.origin_protocol_policy !== "https-only") {
        yield `aws_cloudfront_distribution.${name} asks its origin over plain HTTP`;
      }
    }
    if (
      !String(blocks(body.viewer_certificate)[0]?.minimum_protocol_version).includes("TLSv1.2_20")
    ) {
      yield `aws_cloudfront_distribution.${name} does not ask for TLS 1.2`;
    }
  }
}

function* retention(module: TerraformModule): Iterable<string> {
  const wanted: Readonly<Record<string, string>> = {
    aws_cloudwatch_log_group: "retention_in_days",
    aws_cloudwatch_event_archive: "retention_days",
    aws_sqs_queue: "message_retention_seconds",
  };
  for (const { type, name, body } of module.resources) {
    if (type in wanted && !(wanted[type] in body)) yield `${type}.${name} has no ${wanted[type]}`;
  }
}

function* permissions(module: TerraformModule): Iterable<string> {
  for (const { name, body } of ofType(module, "aws_lambda_permission")) {
    if (!("source_arn" in body)) {
      yield `aws_lambda_permission.${name} has no source_arn: any source could invoke`;
    }
    if (body.principal === "s3.amazonaws.com" && !("source_account" in body)) {
      yield `aws_lambda_permission.${name} has no source_account: the ARN of a bucket does not tell whose it is`;
    }
  }
}

function* requestLogs(module: TerraformModule): Iterable<string> {
  for (const type of ["aws_api_gateway_stage", "aws_apigatewayv2_stage"]) {
    for (const { name, body } of ofType(module, type)) {
      if (blocks(body.access_log_settings).length === 0) yield `${type}.${name} has no access log`;
    }
  }
  const settings: [string, HclBlock][] = [
    ...ofType(module, "aws_api_gateway_method_settings").map((
      { name, body },
    ): [string, HclBlock] => [
      `aws_api_gateway_method_settings.${name}`,
      blocks(body.settings)[0] ?? {},
    ]),
    ...ofType(module, "aws_apigatewayv2_stage").map(({ name, body }): [string, HclBlock] => [
      `aws_apigatewayv2_stage.${name}`,
      blocks(body.default_route_settings)[0] ?? {},
    ]),
  ];
  for (const [name, block] of settings) {
    if (block.data_trace_enabled !== false) {
      yield `${name} may write whole requests to the log (data_trace_enabled)`;
    }
    if (!("throttling_rate_limit" in block)) yield `${name} does not throttle`;
  }
}

function ofType(module: TerraformModule, type: string): TerraformObject[] {
  return module.resources.filter((object) => object.type === type);
}

/** Finds the resource of another type that refers to this one. */
function companion(
  module: TerraformModule,
  object: TerraformObject,
  type: string,
): TerraformObject | undefined {
  const reference = new RegExp(`\\b${object.type}\\.${object.name}\\b`);
  return ofType(module, type).find(({ body }) => reference.test(JSON.stringify(body)));
}

/** Splits a line at the `#` that starts a comment, if there is one outside quotes. */
function splitComment(line: string): [string, string?] {
  const match = /^((?:[^"#]|"(?:[^"\\]|\\.)*")*)(#.*)$/.exec(line);
  return match === null ? [line] : [match[1], match[2]];
}

if (import.meta.main) {
  const root = fileURLToPath(new URL("../modules", import.meta.url));
  const faults: PolicyFault[] = [];
  for (const name of MODULE_NAMES) {
    faults.push(...checkTerraformPolicy(await readTerraformModule(`${root}/${name}`, name)));
  }
  if (Deno.args.includes("--json")) {
    console.log(JSON.stringify({ modules: MODULE_NAMES.length, faults }));
  } else {
    for (const { module, rule, message } of faults) {
      console.log(`modules/${module}: ${rule}: ${message}`);
    }
    console.log(`${MODULE_NAMES.length} modules, ${faults.length} faults`);
  }
  Deno.exit(faults.length === 0 ? 0 : 1);
}
