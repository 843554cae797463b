import { withoutMargin } from "./margin.ts";

/**
 * Returns the Terraform of the role that a workflow deploys with, and of the bucket with the states.
 */
export function renderCiRole(name: string): string {
  return withoutMargin(TEMPLATE.replaceAll("<project>", name));
}

const TEMPLATE =
  `|# What .github/workflows/deploy.yml needs in AWS: the bucket with the states of all stages, and a role
|# for each environment of the repository, which nothing else can assume. Apply it once by hand, with a
|# local state. A separate account for prod is better still: apply it there, too.
|#
|#   cd infra-ci && tofu init && tofu apply -var repository=owner/<project> -var region=eu-central-1
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
|  bucket = "<project>-state-\${local.account}"
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
|  name = "<project>-deploy-\${each.key}"
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
|# Roles and policies of functions, only under the names of the stage, and only with the boundary: a
|# workflow cannot give a function, or itself, more rights than these.
|resource "aws_iam_role_policy" "roles" {
|  for_each = toset(["preview", "dev", "prod"])
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
|  value       = aws_s3_bucket.state.id
|}
`;
