output "rest_api_id" {
  description = "Id of the API, for resources, methods and integrations."
  value       = aws_api_gateway_rest_api.this.id
}

output "rest_api_root_resource_id" {
  description = "Id of the resource `/`, the parent of the first part of each path."
  value       = aws_api_gateway_rest_api.this.root_resource_id
}

output "rest_api_execution_arn" {
  description = "ARN that invocations come from; the api_gateway_execution_arn input of the function module."
  value       = aws_api_gateway_rest_api.this.execution_arn
}

output "invoke_url" {
  description = "URL of the stage."
  value       = aws_api_gateway_stage.this.invoke_url
}

output "api_key_value" {
  description = "The usage plan's key; empty when there is no plan. It is kept in the state, so the state must be a secret too."
  value       = join("", aws_api_gateway_api_key.this[*].value)
  sensitive   = true
}

output "authorizer_id" {
  description = "Id of the authorizer, for methods; empty when there is none."
  value       = join("", aws_api_gateway_authorizer.this[*].id)
}

output "stage_name" {
  description = "Name of the stage."
  value       = aws_api_gateway_stage.this.stage_name
}

output "api_name" {
  description = "Name of the API, known at plan; the api_gateway_name input of the observability module."
  value       = aws_api_gateway_rest_api.this.name
}

output "stage_arn" {
  description = "ARN of the stage, to put a web application firewall before it."
  value       = aws_api_gateway_stage.this.arn
}

output "access_log_group_name" {
  description = "Name of the log group with the access log."
  value       = aws_cloudwatch_log_group.access.name
}

output "redeployment" {
  description = "Hash of everything that the deployment contains; another hash means a new deployment."
  value       = aws_api_gateway_deployment.this.triggers.redeployment
}

output "base_url" {
  description = "URL that clients use, without a slash at its end: the domain's when domain_name is set, else the stage's. It needs the API, not its stage, so that functions of the API can take it."
  value       = local.has_domain ? "https://${var.domain_name}" : "https://${aws_api_gateway_rest_api.this.id}.execute-api.${data.aws_region.current.region}.${data.aws_partition.current.dns_suffix}/${var.stage_name}"
}

output "regional_domain_name" {
  description = "Name that domain_name must point to; empty without a domain."
  value       = join("", aws_api_gateway_domain_name.this[*].regional_domain_name)
}

output "origin_domain" {
  description = "Host name of the gateway; the origin_domain input of the cdn-api module, whose origin_path is the stage."
  value       = "${aws_api_gateway_rest_api.this.id}.execute-api.${data.aws_region.current.region}.${data.aws_partition.current.dns_suffix}"
}
