output "function_name" {
  description = "Full name of the function."
  value       = aws_lambda_function.this.function_name
}

output "function_arn" {
  description = "ARN of the function, known at plan."
  value       = local.function_arn
}

output "invoke_arn" {
  description = "ARN that API Gateway invokes the function by, known at plan; for integrations and for the rest-api module's authorizer."
  value       = local.invoke_arn
}

output "response_streaming_invoke_arn" {
  description = "ARN that a REST API invokes the function by to pass its response on in parts, for integrations with response_transfer_mode STREAM."
  value       = local.response_streaming_invoke_arn
}

output "role_name" {
  description = "Name of the function's role, to attach more policies to."
  value       = aws_iam_role.this.name
}

output "role_arn" {
  description = "ARN of the function's role; the database maps it to a database role."
  value       = aws_iam_role.this.arn
}

output "log_group_name" {
  description = "Name of the function's log group."
  value       = aws_cloudwatch_log_group.this.name
}

output "qualified_arn" {
  description = "ARN with the number of the published version, for CloudFront; it ends in $LATEST when no version is published."
  value       = aws_lambda_function.this.qualified_arn
}

output "source_code_hash" {
  description = "SHA-256 of the package in base64; it changes when, and only when, the content of source_dir does. Empty for images."
  value       = join("", data.archive_file.package[*].output_base64sha256)
}

output "target_arn" {
  description = "ARN that triggers invoke, known at plan: the alias when alias_name is set, else the function."
  value       = local.target_arn
}

output "version" {
  description = "Number of the newest published version; $LATEST when no version is published."
  value       = aws_lambda_function.this.version
}
