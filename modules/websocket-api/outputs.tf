output "api_id" {
  description = "Id of the API."
  value       = aws_apigatewayv2_api.this.id
}

output "api_endpoint" {
  description = "URL of the API (wss://), without the stage."
  value       = aws_apigatewayv2_api.this.api_endpoint
}

output "execution_arn" {
  description = "ARN that invocations come from."
  value       = aws_apigatewayv2_api.this.execution_arn
}

output "stage_name" {
  description = "Name of the stage."
  value       = aws_apigatewayv2_stage.this.name
}

output "invoke_url" {
  description = "URL that clients connect to (wss://), ending in the stage."
  value       = "${aws_apigatewayv2_api.this.api_endpoint}/${aws_apigatewayv2_stage.this.name}"
}

output "management_endpoint" {
  description = "URL (https://) that functions send messages to connections through."
  value       = "${replace(aws_apigatewayv2_api.this.api_endpoint, "wss://", "https://")}/${aws_apigatewayv2_stage.this.name}"
}

output "manage_connections_policy_json" {
  description = "Policy (JSON) that allows sending to, reading and closing connections of this stage; for the inline_policies input of the function module."
  value = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid      = "ManageConnections"
      Effect   = "Allow"
      Action   = "execute-api:ManageConnections"
      Resource = "${aws_apigatewayv2_api.this.execution_arn}/${var.stage_name}/*/@connections/*"
    }]
  })
}
