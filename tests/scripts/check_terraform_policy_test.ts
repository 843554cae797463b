import { assertEquals } from "@std/assert";
import { checkTerraformPolicy } from "../../scripts/check_terraform_policy.ts";
import { parseTerraformModule } from "../../scripts/terraform_module.ts";

const VERSIONS = `terraform {
  required_version = ">= 1.9"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.0, < 7.0"
    }
  }
}
`;

async function faults(main: string, versions = VERSIONS): Promise<string[]> {
  const sources = new Map([["main.tf", main], ["versions.tf", versions]]);
  const module = await parseTerraformModule("sample", "sample", sources);
  return checkTerraformPolicy(module).map(({ rule, message }) => `${rule}: ${message}`);
}

const QUEUE = `resource "aws_sqs_queue" "this" {
  name                      = "q"
  sqs_managed_sse_enabled   = true
  message_retention_seconds = 60
}
resource "aws_sqs_queue_policy" "this" {
  queue_url = aws_sqs_queue.this.url
  policy    = jsonencode({ Condition = { Bool = { "aws:SecureTransport" = "false" } } })
}
`;

const SOUND: [string, string][] = [
  ["a queue with everything", QUEUE],
  [
    "a wildcard with its reason",
    `locals {\n  a = "*" # policy: there is no resource to name here.\n}\n`,
  ],
  ["a comparison with a wildcard", `locals {\n  a = var.origin != "*"\n}\n`],
  ["a wildcard in the middle of an ARN", `locals {\n  a = "\${local.arn}/*"\n}\n`],
];

for (const [what, main] of SOUND) {
  Deno.test(`checkTerraformPolicy() finds nothing when it is given ${what}`, async () => {
    assertEquals(await faults(main), []);
  });
}

const UNSOUND: [string, string, string[]][] = [
  ["a variable without description", `variable "a" {\n  type = string\n}\n`, [
    "described: variable a has no description",
  ]],
  ["a variable of any type", `variable "a" {\n  description = "A."\n  type        = any\n}\n`, [
    "described: variable a has no exact type",
  ]],
  ["an output without description", `output "a" {\n  value = 1\n}\n`, [
    "described: output a has no description",
  ]],
  ["a wildcard resource", `locals {\n  a = "*"\n}\n`, [
    'wildcards: main.tf:2 has a wildcard without a comment "# policy: why": a = "*"',
  ]],
  ["a wildcard action", `locals {\n  a = "s3:Get*" # all of them\n}\n`, [
    'wildcards: main.tf:2 has a wildcard without a comment "# policy: why": a = "s3:Get*" # all of them',
  ]],
  ["a wildcard with an empty reason", `locals {\n  a = "*" # policy:\n}\n`, [
    'wildcards: main.tf:2 has a wildcard without a comment "# policy: why": a = "*" # policy:',
  ]],
  ["a public access list", `locals {\n  acl = "public-read"\n}\n`, [
    "public-access: main.tf names a public access list",
  ]],
  ["a bare bucket", `resource "aws_s3_bucket" "b" {\n  bucket = "b"\n}\n`, [
    "public-access: aws_s3_bucket.b: block_public_acls is not set",
    "public-access: aws_s3_bucket.b: block_public_policy is not set",
    "public-access: aws_s3_bucket.b: ignore_public_acls is not set",
    "public-access: aws_s3_bucket.b: restrict_public_buckets is not set",
    "public-access: aws_s3_bucket.b: object_ownership is not BucketOwnerEnforced",
    "encryption: aws_s3_bucket.b is not encrypted",
    "tls: aws_s3_bucket.b has no aws_s3_bucket_policy that refuses plain HTTP",
  ]],
  ["a queue without encryption", QUEUE.replace(/.*sse_enabled.*\n/, ""), [
    "encryption: aws_sqs_queue.this is not encrypted",
  ]],
  ["a queue without retention", QUEUE.replace(/.*retention.*\n/, ""), [
    "retention: aws_sqs_queue.this has no message_retention_seconds",
  ]],
  ["a queue without a TLS policy", QUEUE.replace("SecureTransport", "Other"), [
    "tls: aws_sqs_queue.this has no aws_sqs_queue_policy that refuses plain HTTP",
  ]],
  ["a bare topic", `resource "aws_sns_topic" "t" {\n  name = "t"\n}\n`, [
    "encryption: aws_sns_topic.t is not encrypted",
    "tls: aws_sns_topic.t has no aws_sns_topic_policy that refuses plain HTTP",
  ]],
  ["a table without encryption", `resource "aws_dynamodb_table" "t" {\n  name = "t"\n}\n`, [
    "encryption: aws_dynamodb_table.t is not encrypted",
  ]],
  ["a key that does not rotate", `resource "aws_kms_key" "k" {\n}\n`, [
    "encryption: aws_kms_key.k does not rotate",
  ]],
  [
    "a log group that is kept for ever",
    `resource "aws_cloudwatch_log_group" "g" {\n  name = "g"\n}\n`,
    [
      "retention: aws_cloudwatch_log_group.g has no retention_in_days",
    ],
  ],
  [
    "a permission for every source",
    `resource "aws_lambda_permission" "p" {\n  principal = "s3.amazonaws.com"\n}\n`,
    [
      "permissions: aws_lambda_permission.p has no source_arn: any source could invoke",
      "permissions: aws_lambda_permission.p has no source_account: the ARN of a bucket does not tell whose it is",
    ],
  ],
  ["a stage without log", `resource "aws_api_gateway_stage" "s" {\n  stage_name = "s"\n}\n`, [
    "request-logs: aws_api_gateway_stage.s has no access log",
  ]],
  [
    "a stage that logs whole requests",
    `resource "aws_api_gateway_method_settings" "s" {\n  settings {\n    data_trace_enabled = true\n  }\n}\n`,
    [
      "request-logs: aws_api_gateway_method_settings.s may write whole requests to the log (data_trace_enabled)",
      "request-logs: aws_api_gateway_method_settings.s does not throttle",
    ],
  ],
  [
    "a CDN over plain HTTP",
    `resource "aws_cloudfront_distribution" "d" {
  origin {
    custom_origin_config {
      origin_protocol_policy = "match-viewer"
    }
  }
  default_cache_behavior {
    viewer_protocol_policy = "allow-all"
  }
}
`,
    [
      "tls: aws_cloudfront_distribution.d serves viewers over plain HTTP",
      "tls: aws_cloudfront_distribution.d asks its origin over plain HTTP",
      "tls: aws_cloudfront_distribution.d does not ask for TLS 1.2",
    ],
  ],
  ["a provider block", `provider "aws" {\n  region = "x"\n}\n`, [
    "versions: a provider block (aws) would take the choice from the caller",
  ]],
  [
    "a provisioner",
    `resource "aws_iam_role" "r" {\n  provisioner "local-exec" {\n    command = "x"\n  }\n}\n`,
    [
      "versions: main.tf runs commands at apply (provisioner)",
    ],
  ],
];

for (const [what, main, wanted] of UNSOUND) {
  Deno.test(`checkTerraformPolicy() finds the fault when it is given ${what}`, async () => {
    assertEquals(await faults(main), wanted);
  });
}

Deno.test("checkTerraformPolicy() finds the fault when versions are too loose or a provider is foreign", async () => {
  const versions = VERSIONS.replace(">= 1.9", ">= 1.5").replace(">= 6.0, < 7.0", ">= 6.0")
    .replace(
      "    aws = {",
      `    random = {\n      source = "hashicorp/random"\n    }\n    aws = {`,
    );
  assertEquals(await faults("", versions), [
    'versions: required_version is ">= 1.5"; it must be at least 1.9',
    'versions: the aws provider is ">= 6.0"; it must be ">= 6.0, < 7.0"',
    "versions: the provider random is not allowed; aws and archive are",
  ]);
});
