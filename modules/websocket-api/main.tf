data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  name          = "${var.name_prefix}-websocket"
  log_group_arn = "arn:${data.aws_partition.current.partition}:logs:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:log-group:${aws_cloudwatch_log_group.access.name}"

  access_log_format = jsonencode({
    requestId          = "$context.requestId"
    extendedRequestId  = "$context.extendedRequestId"
    requestTime        = "$context.requestTime"
    routeKey           = "$context.routeKey"
    eventType          = "$context.eventType"
    connectionId       = "$context.connectionId"
    status             = "$context.status"
    integrationLatency = "$context.integrationLatency"
    integrationStatus  = "$context.integration.status"
    integrationError   = "$context.integrationErrorMessage"
    authorizerError    = "$context.authorizer.error"
    errorMessage       = "$context.error.message"
    sourceIp           = "$context.identity.sourceIp"
    userAgent          = "$context.identity.userAgent"
  })

  # $connect and its like would not do in names of statements.
  statement_names = { for key in keys(var.routes) : key => replace(title(replace(key, "/[^A-Za-z0-9]+/", " ")), " ", "") }
}

resource "aws_apigatewayv2_api" "this" {
  name                       = local.name
  description                = var.description
  protocol_type              = "WEBSOCKET"
  route_selection_expression = var.route_selection_expression
  tags                       = var.tags
}

resource "aws_apigatewayv2_authorizer" "this" {
  count = var.authorizer == null ? 0 : 1

  api_id           = aws_apigatewayv2_api.this.id
  name             = "${local.name}-authorizer"
  authorizer_type  = "REQUEST"
  authorizer_uri   = var.authorizer.invoke_arn
  identity_sources = var.authorizer.identity_sources
}

resource "aws_apigatewayv2_integration" "this" {
  for_each = var.routes

  api_id             = aws_apigatewayv2_api.this.id
  integration_type   = "AWS_PROXY"
  integration_method = "POST"
  integration_uri    = each.value.invoke_arn
}

resource "aws_apigatewayv2_route" "this" {
  for_each = var.routes

  api_id                              = aws_apigatewayv2_api.this.id
  route_key                           = each.key
  target                              = "integrations/${aws_apigatewayv2_integration.this[each.key].id}"
  authorization_type                  = each.key == "$connect" && var.authorizer != null ? "CUSTOM" : "NONE"
  authorizer_id                       = each.key == "$connect" ? one(aws_apigatewayv2_authorizer.this[*].id) : null
  route_response_selection_expression = each.value.two_way ? "$default" : null
}

resource "aws_apigatewayv2_route_response" "this" {
  for_each = { for key, route in var.routes : key => route if route.two_way }

  api_id             = aws_apigatewayv2_api.this.id
  route_id           = aws_apigatewayv2_route.this[each.key].id
  route_response_key = "$default"
}

resource "aws_lambda_permission" "route" {
  for_each = var.routes

  statement_id  = "AllowWebSocket${local.statement_names[each.key]}"
  action        = "lambda:InvokeFunction"
  function_name = each.value.function_name
  principal     = "apigateway.amazonaws.com"
  source_arn    = "${aws_apigatewayv2_api.this.execution_arn}/${var.stage_name}/${each.key}"
}

resource "aws_lambda_permission" "authorizer" {
  count = var.authorizer == null ? 0 : 1

  statement_id  = "AllowWebSocketAuthorizer"
  action        = "lambda:InvokeFunction"
  function_name = var.authorizer.function_name
  principal     = "apigateway.amazonaws.com"
  source_arn    = "${aws_apigatewayv2_api.this.execution_arn}/authorizers/${aws_apigatewayv2_authorizer.this[0].id}"
}

resource "aws_cloudwatch_log_group" "access" {
  name              = "/aws/apigateway/${local.name}/${var.stage_name}/access"
  retention_in_days = var.log_retention_days
  kms_key_id        = var.log_kms_key_arn
  tags              = var.tags
}

resource "aws_apigatewayv2_stage" "this" {
  api_id      = aws_apigatewayv2_api.this.id
  name        = var.stage_name
  auto_deploy = true
  tags        = var.tags

  access_log_settings {
    destination_arn = local.log_group_arn
    format          = local.access_log_format
  }

  default_route_settings {
    throttling_burst_limit   = var.throttling_burst_limit
    throttling_rate_limit    = var.throttling_rate_limit
    logging_level            = "ERROR"
    data_trace_enabled       = false # It would write whole messages to the log.
    detailed_metrics_enabled = var.detailed_metrics_enabled
  }

  # The first deployment needs a route to deploy.
  depends_on = [aws_apigatewayv2_route.this]

  # Deployments are the stage's own doing; they would show as a change of ours.
  lifecycle {
    ignore_changes = [deployment_id]
  }
}
