import { withoutMargin } from "./margin.ts";
import type { ProjectRuntime } from "./project_runtime.ts";

/**
 * Returns the files of continuous deployment from GitHub: a workflow, and the Terraform of its role and
 * of the bucket with the states.
 *
 * @param name The project name.
 * @param runtime The local runtime.
 * @returns Contents by path.
 */
export function ciFiles(name: string, runtime: ProjectRuntime): Record<string, string> {
  return {
    ".github/workflows/deploy.yml": renderWorkflow(runtime),
    "infra-ci/main.tf": renderRole(name),
  };
}

const SETUP: Readonly<Record<ProjectRuntime, string>> = {
  node: `|      - uses: actions/setup-node@820762786026740c76f36085b0efc47a31fe5020 # v7.0.0
|        with:
|          node-version: 24
|      - run: npm ci
`,
  deno: `|      - uses: actions/setup-node@820762786026740c76f36085b0efc47a31fe5020 # v7.0.0
|        with:
|          node-version: 24
|      - run: npm install --global deno@2.9.6
`,
};

const COMMANDS: Readonly<Record<ProjectRuntime, { ci: string; trellis: string }>> = {
  node: { ci: "npm run ci", trellis: "npx trellis" },
  deno: { ci: "deno task ci", trellis: "deno task trellis" },
};

function renderWorkflow(runtime: ProjectRuntime): string {
  const { ci, trellis } = COMMANDS[runtime];
  return withoutMargin(`|name: deploy
|# Needs the environments plan, preview, dev and prod with the variables AWS_REGION and AWS_DEPLOY_ROLE
|# (outputs of infra-ci/). Let prod require a review.
|on:
|  push:
|    branches: [main]
|  pull_request:
|    types: [opened, synchronize, reopened, closed]
|permissions:
|  contents: read
|  id-token: write # a short-lived token for AWS: there are no keys
|jobs:
|  check:
|    if: github.event.action != 'closed'
|    runs-on: ubuntu-latest
|    timeout-minutes: 20
|    permissions:
|      contents: read
|    steps:
|      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
${SETUP[runtime]}|      - run: ${ci}
|${
    renderJob({
      job: "plan",
      when: PULL_REQUEST,
      needs: "check",
      environment: "plan",
      run: [`${trellis} deploy --stage prod --plan`],
      runtime,
    })
  }|${
    renderJob({
      job: "preview",
      when: PULL_REQUEST,
      needs: "plan",
      environment: "preview",
      concurrency: "preview-\${{ github.event.number }}",
      run: [
        `${trellis} deploy --stage preview-\${{ github.event.number }} --yes --allow-destroy --generate-secrets`,
      ],
      runtime,
    })
  }|${
    renderJob({
      job: "close",
      when:
        "github.event.action == 'closed' && github.event.pull_request.head.repo.full_name == github.repository",
      environment: "preview",
      concurrency: "preview-\${{ github.event.number }}",
      run: [
        `${trellis} destroy --stage preview-\${{ github.event.number }} --confirm preview-\${{ github.event.number }}`,
      ],
      runtime,
    })
  }|${
    renderJob({
      job: "dev",
      when: "github.event_name == 'push'",
      needs: "check",
      environment: "dev",
      concurrency: "dev",
      run: [`${trellis} deploy --stage dev --yes`],
      runtime,
    })
  }|${
    renderJob({
      job: "prod",
      when: "github.event_name == 'push'",
      needs: "dev",
      environment: "prod",
      concurrency: "prod",
      run: [`${trellis} deploy --stage prod --yes`],
      runtime,
    })
  }`).trimEnd() + "\n";
}

/** Pull requests from the repository itself; those from forks get no token for AWS. */
const PULL_REQUEST =
  "github.event_name == 'pull_request' && github.event.action != 'closed' && github.event.pull_request.head.repo.full_name == github.repository";

interface Job {
  readonly job: string;
  readonly when: string;
  readonly needs?: string;
  readonly environment: string;
  readonly concurrency?: string;
  readonly run: readonly string[];
  readonly runtime: ProjectRuntime;
}

function renderJob({ job, when, needs, environment, concurrency, run, runtime }: Job): string {
  return `  ${job}:
|    if: ${when}
|${needs === undefined ? "" : `    needs: ${needs}\n|`}    runs-on: ubuntu-latest
|    timeout-minutes: 60
|    environment: ${environment}
|${concurrency === undefined ? "" : `    concurrency: ${concurrency}\n|`}    steps:
|      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
${SETUP[runtime]}|      - uses: opentofu/setup-opentofu@v1
|        with:
|          tofu_wrapper: false
|      - uses: aws-actions/configure-aws-credentials@v4
|        with:
|          role-to-assume: \${{ vars.AWS_DEPLOY_ROLE }}
|          aws-region: \${{ vars.AWS_REGION }}
${
    run.map((line) =>
      `|      - run: ${line}
|        env:
|          TF_VAR_region: \${{ vars.AWS_REGION }}
`
    ).join("")
  }`;
}

function renderRole(name: string): string {
  return withoutMargin(
    `|# What .github/workflows/deploy.yml needs in AWS: the bucket with the states of all stages, and a role
|# for each environment of the repository, which nothing else can assume. Apply it once by hand, with a
|# local state. A separate account for prod is better still: apply it there, too.
|#
|#   cd infra-ci && tofu init && tofu apply -var repository=owner/${name} -var region=eu-central-1
|
|terraform {
|  required_version = ">= 1.9"
|
|  required_providers {
|    aws = {
|      source  = "hashicorp/aws"
|      version = ">= 6.0, < 7.0"
|    }
|  }
|}
|
|variable "repository" {
|  description = "The repository on GitHub: owner/name."
|  type        = string
|  nullable    = false
|}
|
|variable "region" {
|  description = "Region of the bucket with the states."
|  type        = string
|  nullable    = false
|}
|
|provider "aws" {
|  region = var.region
|}
|
|data "aws_caller_identity" "current" {}
|
|locals {
|  account = data.aws_caller_identity.current.account_id
|
|  # The environments of the workflow. A plan reads only, so that a pull request cannot change a stage.
|  policies = {
|    plan    = "ReadOnlyAccess"
|    preview = "PowerUserAccess"
|    dev     = "PowerUserAccess"
|    prod    = "PowerUserAccess"
|  }
|}
|
|resource "aws_s3_bucket" "state" {
|  bucket = "${name}-state-\${local.account}"
|}
|
|resource "aws_s3_bucket_versioning" "state" {
|  bucket = aws_s3_bucket.state.id
|
|  versioning_configuration {
|    status = "Enabled"
|  }
|}
|
|resource "aws_s3_bucket_public_access_block" "state" {
|  bucket                  = aws_s3_bucket.state.id
|  block_public_acls       = true
|  block_public_policy     = true
|  ignore_public_acls      = true
|  restrict_public_buckets = true
|}
|
|resource "aws_iam_openid_connect_provider" "github" {
|  url            = "https://token.actions.githubusercontent.com"
|  client_id_list = ["sts.amazonaws.com"]
|}
|
|resource "aws_iam_role" "deploy" {
|  for_each = local.policies
|
|  name = "${name}-deploy-\${each.key}"
|
|  assume_role_policy = jsonencode({
|    Version = "2012-10-17"
|    Statement = [{
|      Effect    = "Allow"
|      Action    = "sts:AssumeRoleWithWebIdentity"
|      Principal = { Federated = aws_iam_openid_connect_provider.github.arn }
|      Condition = {
|        StringEquals = {
|          "token.actions.githubusercontent.com:aud" = "sts.amazonaws.com"
|          "token.actions.githubusercontent.com:sub" = "repo:\${var.repository}:environment:\${each.key}"
|        }
|      }
|    }]
|  })
|}
|
|resource "aws_iam_role_policy_attachment" "resources" {
|  for_each = local.policies
|
|  role       = aws_iam_role.deploy[each.key].name
|  policy_arn = "arn:aws:iam::aws:policy/\${each.value}"
|}
|
|# Terraform locks a state by a file beside it.
|resource "aws_iam_role_policy" "lock" {
|  name = "lock"
|  role = aws_iam_role.deploy["plan"].name
|
|  policy = jsonencode({
|    Version = "2012-10-17"
|    Statement = [{
|      Effect   = "Allow"
|      Action   = ["s3:PutObject", "s3:DeleteObject"]
|      Resource = "\${aws_s3_bucket.state.arn}/*.tflock"
|    }]
|  })
|}
|
|# Roles and policies of functions, only under the names of the stage.
|resource "aws_iam_role_policy" "roles" {
|  for_each = toset(["preview", "dev", "prod"])
|
|  name = "roles"
|  role = aws_iam_role.deploy[each.key].name
|
|  policy = jsonencode({
|    Version = "2012-10-17"
|    Statement = [{
|      Effect = "Allow"
|      Action = ["iam:*Role", "iam:*RolePolicy", "iam:*RolePolicies", "iam:*Policy", "iam:*PolicyVersion", "iam:*PolicyVersions", "iam:*RoleTags", "iam:ListInstanceProfilesForRole"]
|      Resource = [
|        "arn:aws:iam::\${local.account}:role/${name}-\${each.key}-*",
|        "arn:aws:iam::\${local.account}:policy/${name}-\${each.key}-*",
|      ]
|    }]
|  })
|}
|
|output "roles" {
|  description = "Variable AWS_DEPLOY_ROLE of each environment of the repository."
|  value       = { for name, role in aws_iam_role.deploy : name => role.arn }
|}
|
|output "state_bucket" {
|  description = "For infra.state in trellis.config.ts."
|  value       = aws_s3_bucket.state.id
|}
`,
  );
}
