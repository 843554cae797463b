import { withoutMargin } from "./margin.ts";

/**
 * Returns the Terraform of the role that a workflow deploys with, and of the bucket with the states.
 */
export function renderCiRole(name: string): string {
  return withoutMargin(TEMPLATE.replaceAll("<project>", name));
}

const TEMPLATE =
  `|# What .github/workflows/deploy.yml needs in AWS: the bucket with the states of all stages, and a role
|# for each environment of the repository. Apply it once by hand, with a local state.
|#
|#   cd infra-ci && tofu init && tofu apply -var repository=owner/<project> -var region=eu-central-1
|#
|# A preview runs the code of a pull request with the rights to create resources, so it needs an account
|# of its own. Apply this a second time there, with another state, and then again here with the account:
|#
|#   tofu apply -state=preview.tfstate -var 'environments=["preview"]' -var state_bucket=... (same repository, region)
|#   tofu apply -var preview_account=123456789012 ... (same repository, region)
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
|variable "environments" {
|  description = "Environments of the workflow whose stages are in this account."
|  type        = set(string)
|  default     = ["plan", "dev", "prod"]
|  nullable    = false
|
|  validation {
|    condition     = length(setsubtract(var.environments, ["plan", "preview", "dev", "prod"])) == 0
|    error_message = "environments must be some of plan, preview, dev and prod."
|  }
|
|  validation {
|    condition     = !contains(var.environments, "preview") || length(var.environments) == 1
|    error_message = "preview runs the code of pull requests: it needs an account without other stages."
|  }
|}
|
|variable "state_bucket" {
|  description = "In the account of previews: the bucket with the states, which is in the other account."
|  type        = string
|  default     = null
|
|  validation {
|    condition     = (var.state_bucket != null) == contains(var.environments, "preview")
|    error_message = "state_bucket is needed for preview, and only there."
|  }
|}
|
|variable "preview_account" {
|  description = "Account of previews, whose role may use their states."
|  type        = string
|  default     = null
|
|  validation {
|    condition     = var.preview_account == null ? true : can(regex("^[0-9]{12}$", var.preview_account))
|    error_message = "preview_account must have 12 digits."
|  }
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
|  is_preview = contains(var.environments, "preview")
|  bucket     = local.is_preview ? var.state_bucket : aws_s3_bucket.state[0].id
|
|  # Stages that can be changed. The plan of a pull request only reads.
|  deploying = setsubtract(var.environments, ["plan"])
|
|  # Configuration of resources that the plan of a pull request reads, by service.
|  plan_reads = {
|    acm            = ["DescribeCertificate", "ListTagsForCertificate"]
|    cloudfront     = ["Get*", "List*"]
|    cloudwatch     = ["DescribeAlarms", "GetDashboard", "ListTagsForResource"]
|    dsql           = ["GetCluster", "GetVpcEndpointServiceName", "ListTagsForResource"]
|    dynamodb       = ["Describe*", "ListTagsOfResource"]
|    ec2            = ["DescribeNetworkInterfaces", "DescribeSecurityGroups", "DescribeSubnets", "DescribeVpcs"]
|    ecr            = ["DescribeRepositories", "GetLifecyclePolicy", "GetRepositoryPolicy", "ListTagsForResource"]
|    events         = ["Describe*", "List*"]
|    iam            = ["GetPolicy", "GetPolicyVersion", "GetRole", "GetRolePolicy", "ListAttachedRolePolicies", "ListPolicyVersions", "ListRolePolicies"]
|    kinesis        = ["DescribeStreamSummary", "ListTagsForResource", "ListTagsForStream"]
|    kms            = ["DescribeKey", "GetKeyPolicy", "GetKeyRotationStatus", "ListAliases", "ListResourceTags"]
|    lambda         = ["GetEventSourceMapping", "ListTags"]
|    logs           = ["DescribeDeliveries", "DescribeLogGroups", "GetDelivery", "GetDeliveryDestination", "GetDeliverySource", "ListTagsForResource"]
|    route53        = ["Get*", "List*"]
|    s3             = ["GetAccelerateConfiguration", "GetBucket*", "GetEncryptionConfiguration", "GetLifecycleConfiguration", "GetReplicationConfiguration"]
|    scheduler      = ["GetSchedule"]
|    secretsmanager = ["DescribeSecret", "GetResourcePolicy"]
|    ses            = ["GetConfigurationSet", "GetConfigurationSetEventDestinations", "GetEmailIdentity", "ListTagsForResource"]
|    sns            = ["GetDataProtectionPolicy", "GetPlatformApplicationAttributes", "GetSubscriptionAttributes", "GetTopicAttributes", "ListTagsForResource"]
|    sqs            = ["GetQueueAttributes", "GetQueueUrl", "ListQueueTags"]
|  }
|}
|
|resource "aws_s3_bucket" "state" {
|  count = local.is_preview ? 0 : 1
|
|  bucket = "<project>-state-\${local.account}"
|}
|
|resource "aws_s3_bucket_versioning" "state" {
|  count = local.is_preview ? 0 : 1
|
|  bucket = aws_s3_bucket.state[0].id
|
|  versioning_configuration {
|    status = "Enabled"
|  }
|}
|
|resource "aws_s3_bucket_public_access_block" "state" {
|  count = local.is_preview ? 0 : 1
|
|  bucket                  = aws_s3_bucket.state[0].id
|  block_public_acls       = true
|  block_public_policy     = true
|  ignore_public_acls      = true
|  restrict_public_buckets = true
|}
|
|# The account of previews reaches their states and no other. ListBucket shows the names of all states.
|resource "aws_s3_bucket_policy" "previews" {
|  count = var.preview_account == null ? 0 : 1
|
|  bucket = aws_s3_bucket.state[0].id
|
|  policy = jsonencode({
|    Version = "2012-10-17"
|    Statement = [
|      {
|        Sid       = "UseStates"
|        Effect    = "Allow"
|        Principal = { AWS = "arn:aws:iam::\${var.preview_account}:root" }
|        Action    = ["s3:DeleteObject", "s3:GetObject", "s3:PutObject"]
|        Resource  = "\${aws_s3_bucket.state[0].arn}/<project>/preview-*"
|        Condition = { ArnEquals = { "aws:PrincipalArn" = "arn:aws:iam::\${var.preview_account}:role/<project>-deploy-preview" } }
|      },
|      {
|        Sid       = "ListStates"
|        Effect    = "Allow"
|        Principal = { AWS = "arn:aws:iam::\${var.preview_account}:root" }
|        Action    = "s3:ListBucket"
|        Resource  = aws_s3_bucket.state[0].arn
|        Condition = { ArnEquals = { "aws:PrincipalArn" = "arn:aws:iam::\${var.preview_account}:role/<project>-deploy-preview" } }
|      },
|    ]
|  })
|}
|
|resource "aws_iam_openid_connect_provider" "github" {
|  url            = "https://token.actions.githubusercontent.com"
|  client_id_list = ["sts.amazonaws.com"]
|}
|
|# The token names the environment; those of dev and prod must also come from the branch main, whatever the
|# rules of the environments on GitHub allow.
|resource "aws_iam_role" "deploy" {
|  for_each = var.environments
|
|  name = "<project>-deploy-\${each.key}"
|
|  assume_role_policy = jsonencode({
|    Version = "2012-10-17"
|    Statement = [{
|      Effect    = "Allow"
|      Action    = "sts:AssumeRoleWithWebIdentity"
|      Principal = { Federated = aws_iam_openid_connect_provider.github.arn }
|      Condition = {
|        StringEquals = merge(
|          {
|            "token.actions.githubusercontent.com:aud" = "sts.amazonaws.com"
|            "token.actions.githubusercontent.com:sub" = "repo:\${var.repository}:environment:\${each.key}"
|          },
|          contains(["dev", "prod"], each.key) ? { "token.actions.githubusercontent.com:ref" = "refs/heads/main" } : {},
|        )
|      }
|    }]
|  })
|}
|
|resource "aws_iam_role_policy_attachment" "resources" {
|  for_each = local.deploying
|
|  role       = aws_iam_role.deploy[each.key].name
|  policy_arn = "arn:aws:iam::aws:policy/PowerUserAccess"
|}
|
|# The plan compares the configuration of resources with the state of prod. It reads no values of secrets and
|# parameters, no rows, messages, objects and log lines, and no state of another stage. The state itself
|# holds what Terraform was given: sensitive variables, the key of a usage plan, the CDN's origin secret, keys
|# of push platforms. If you use these, let the environment plan require a review too.
|resource "aws_iam_role_policy" "plan" {
|  count = contains(var.environments, "plan") ? 1 : 0
|
|  name = "plan"
|  role = aws_iam_role.deploy["plan"].name
|
|  policy = jsonencode({
|    Version = "2012-10-17"
|    Statement = [
|      {
|        Sid      = "ReadConfiguration"
|        Effect   = "Allow"
|        Action   = flatten([for service, actions in local.plan_reads : formatlist("\${service}:%s", actions)])
|        Resource = "*"
|      },
|      {
|        Sid      = "ReadFunctions"
|        Effect   = "Allow"
|        Action   = ["lambda:Get*", "lambda:List*"]
|        Resource = "arn:aws:lambda:*:\${local.account}:function:<project>-prod-*"
|      },
|      {
|        Sid      = "ReadApis"
|        Effect   = "Allow"
|        Action   = "apigateway:GET"
|        Resource = [for path in ["account", "apis*", "domainnames*", "restapis*", "tags*"] : "arn:aws:apigateway:*::/\${path}"]
|      },
|      {
|        # these answers have the values of keys
|        Sid       = "ReadKeys"
|        Effect    = "Allow"
|        Action    = "apigateway:GET"
|        Resource  = ["arn:aws:apigateway:*::/apikeys/*", "arn:aws:apigateway:*::/usageplans/*"]
|        Condition = { StringEquals = { "aws:ResourceTag/Project" = "<project>", "aws:ResourceTag/Environment" = "prod" } }
|      },
|      {
|        Sid      = "ReadState"
|        Effect   = "Allow"
|        Action   = "s3:GetObject"
|        Resource = "\${aws_s3_bucket.state[0].arn}/<project>/prod.tfstate"
|      },
|      {
|        # the statements of the release, for the check of migrations
|        Sid      = "ReadRelease"
|        Effect   = "Allow"
|        Action   = "s3:GetObject"
|        Resource = "\${aws_s3_bucket.state[0].arn}/<project>/prod.tfstate.releases.json"
|      },
|      {
|        # a lock is a file beside the state
|        Sid      = "LockState"
|        Effect   = "Allow"
|        Action   = ["s3:DeleteObject", "s3:GetObject", "s3:PutObject"]
|        Resource = "\${aws_s3_bucket.state[0].arn}/<project>/prod.tfstate.tflock"
|      },
|      {
|        Sid      = "FindState"
|        Effect   = "Allow"
|        Action   = "s3:ListBucket"
|        Resource = aws_s3_bucket.state[0].arn
|      },
|    ]
|  })
|}
|
|# The most that a role of the project may do, whatever its policies say: nothing about identities.
|# infra.permissionsBoundary in trellis.config.ts names it.
|resource "aws_iam_policy" "boundary" {
|  name = "<project>-functions"
|
|  policy = jsonencode({
|    Version = "2012-10-17"
|    Statement = [{
|      Effect    = "Allow"
|      NotAction = ["account:*", "iam:*", "organizations:*", "sts:AssumeRole*"]
|      Resource  = "*"
|    }]
|  })
|}
|
|# REST and WebSocket APIs write logs with one role for each account and region. No preview may own it, because
|# it would be destroyed with that preview.
|resource "aws_iam_role" "gateway" {
|  count = local.is_preview ? 1 : 0
|
|  name = "<project>-gateway-logs"
|
|  assume_role_policy = jsonencode({
|    Version = "2012-10-17"
|    Statement = [{
|      Effect    = "Allow"
|      Action    = "sts:AssumeRole"
|      Principal = { Service = "apigateway.amazonaws.com" }
|    }]
|  })
|}
|
|resource "aws_iam_role_policy_attachment" "gateway" {
|  count = local.is_preview ? 1 : 0
|
|  role       = aws_iam_role.gateway[0].name
|  policy_arn = "arn:aws:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs"
|}
|
|resource "aws_api_gateway_account" "this" {
|  count = local.is_preview ? 1 : 0
|
|  cloudwatch_role_arn = aws_iam_role.gateway[0].arn
|
|  depends_on = [aws_iam_role_policy_attachment.gateway]
|}
|
|# Roles and policies of functions, only under the names of the stage, and roles only with the boundary: a
|# workflow cannot give a function, or itself, rights over identities.
|resource "aws_iam_role_policy" "roles" {
|  for_each = local.deploying
|
|  name = "roles"
|  role = aws_iam_role.deploy[each.key].name
|
|  policy = jsonencode({
|    Version = "2012-10-17"
|    Statement = [
|      {
|        Sid      = "WriteBoundedRoles"
|        Effect   = "Allow"
|        Action   = ["iam:AttachRolePolicy", "iam:CreateRole", "iam:PutRolePermissionsBoundary", "iam:PutRolePolicy"]
|        Resource = "arn:aws:iam::\${local.account}:role/<project>-\${each.key}-*"
|        Condition = {
|          StringEquals = { "iam:PermissionsBoundary" = aws_iam_policy.boundary.arn }
|        }
|      },
|      {
|        Sid    = "UseRoles"
|        Effect = "Allow"
|        Action = [
|          "iam:DeleteRole",
|          "iam:DeleteRolePolicy",
|          "iam:DetachRolePolicy",
|          "iam:GetRole",
|          "iam:GetRolePolicy",
|          "iam:ListAttachedRolePolicies",
|          "iam:ListInstanceProfilesForRole",
|          "iam:ListRolePolicies",
|          "iam:ListRoleTags",
|          "iam:PassRole",
|          "iam:TagRole",
|          "iam:UntagRole",
|          "iam:UpdateAssumeRolePolicy",
|          "iam:UpdateRole",
|        ]
|        Resource = "arn:aws:iam::\${local.account}:role/<project>-\${each.key}-*"
|      },
|      {
|        Sid    = "WritePolicies"
|        Effect = "Allow"
|        Action = [
|          "iam:CreatePolicy",
|          "iam:CreatePolicyVersion",
|          "iam:DeletePolicy",
|          "iam:DeletePolicyVersion",
|          "iam:GetPolicy",
|          "iam:GetPolicyVersion",
|          "iam:ListEntitiesForPolicy",
|          "iam:ListPolicyVersions",
|          "iam:SetDefaultPolicyVersion",
|          "iam:TagPolicy",
|          "iam:UntagPolicy",
|        ]
|        Resource = "arn:aws:iam::\${local.account}:policy/<project>-\${each.key}-*"
|      },
|    ]
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
|  value       = local.bucket
|}
`;
