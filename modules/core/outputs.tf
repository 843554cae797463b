output "name_prefix" {
  description = "Start of every name, `<project_name>-<environment>`; the name_prefix input of all other modules."
  value       = local.name_prefix

  # Whatever is named after the prefix waits for the account's log role: an API
  # with logs cannot be made before it.
  depends_on = [aws_api_gateway_account.this]
}

output "common_tags" {
  description = "Tags for everything; the tags input of all other modules."
  value       = local.common_tags
}

output "account_id" {
  description = "Number of the AWS account that is deployed to."
  value       = data.aws_caller_identity.current.account_id
}

output "region" {
  description = "Region that is deployed to."
  value       = data.aws_region.current.region
}

output "function_assume_role_policy" {
  description = "Policy (JSON) that lets Lambda take on a role; the assume_role_policy input of the function module."
  value       = local.assume_role_policies.function
}

output "function_gateway_assume_role_policy" {
  description = "Policy (JSON) that lets Lambda and API Gateway take on a role, for functions that the gateway invokes with credentials."
  value       = local.assume_role_policies.gateway
}

output "edge_function_assume_role_policy" {
  description = "Policy (JSON) that lets Lambda and Lambda@Edge take on a role."
  value       = local.assume_role_policies.edge
}

output "function_xray_policy_arn" {
  description = "ARN of the policy that lets a role send traces to X-Ray. The function module grants this already; the policy is for other roles."
  value       = aws_iam_policy.xray.arn
}

output "api_gateway_logs_role_arn" {
  description = "ARN of the role with which API Gateway writes logs; empty unless manage_api_gateway_account is set."
  value       = join("", aws_iam_role.api_gateway_logs[*].arn)
}
