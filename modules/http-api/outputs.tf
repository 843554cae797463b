output "api_id" {
  description = "Id of the API, for your routes and integrations, and for metrics."
  value       = aws_apigatewayv2_api.this.id
}

output "execution_arn" {
  description = "ARN that invocations come from; the api_gateway_execution_arn input of the function module."
  value       = aws_apigatewayv2_api.this.execution_arn
}

output "stage_name" {
  description = "Name of the stage."
  value       = aws_apigatewayv2_stage.this.name
}

output "stage_arn" {
  description = "ARN of the stage."
  value       = aws_apigatewayv2_stage.this.arn
}

output "access_log_group_name" {
  description = "Name of the log group with the access log."
  value       = aws_cloudwatch_log_group.access.name
}

output "base_url" {
  description = "URL that clients use, without a slash at its end: the domain's when domain_name is set, else the gateway's. It needs the API, not its routes, so that functions of the API can take it."
  value       = local.has_domain ? "https://${var.domain_name}" : aws_apigatewayv2_api.this.api_endpoint
}

output "origin_domain" {
  description = "Host name of the gateway; the origin_domain input of the cdn-api module."
  value       = replace(aws_apigatewayv2_api.this.api_endpoint, "https://", "")
}

output "regional_domain_name" {
  description = "Name that domain_name must point to; empty without a domain."
  value       = join("", [for domain in aws_apigatewayv2_domain_name.this : domain.domain_name_configuration[0].target_domain_name])
}
