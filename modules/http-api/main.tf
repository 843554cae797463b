data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  name          = "${var.name_prefix}-http"
  log_group_arn = "arn:${data.aws_partition.current.partition}:logs:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:log-group:${aws_cloudwatch_log_group.access.name}"

  # Names follow the access log variables. The route stands for the path, which may
  # hold a secret, such as the token of a password reset. Numbers stay strings: a request that
  # failed early has "-" in their place.
  access_log_format = jsonencode({
    requestId          = "$context.requestId"
    extendedRequestId  = "$context.extendedRequestId"
    requestTime        = "$context.requestTime"
    httpMethod         = "$context.httpMethod"
    routeKey           = "$context.routeKey"
    protocol           = "$context.protocol"
    status             = "$context.status"
    responseLength     = "$context.responseLength"
    responseLatency    = "$context.responseLatency"
    integrationLatency = "$context.integrationLatency"
    integrationStatus  = "$context.integration.status"
    authorizerError    = "$context.authorizer.error"
    errorType          = "$context.error.responseType"
    integrationError   = "$context.integration.error"
    sourceIp           = "$context.identity.sourceIp"
    userAgent          = "$context.identity.userAgent"
  })

  authorizer_ids = {
    NONE   = null
    CUSTOM = one(aws_apigatewayv2_authorizer.function[*].id)
    JWT    = one(aws_apigatewayv2_authorizer.jwt[*].id)
  }
}

# No CORS settings: the gateway would replace the headers of the functions, which
# know the origins of each route and may allow cookies.
resource "aws_apigatewayv2_api" "this" {
  name                         = local.name
  description                  = var.description
  protocol_type                = "HTTP"
  disable_execute_api_endpoint = var.disable_execute_api_endpoint
  tags                         = var.tags
}

resource "aws_apigatewayv2_authorizer" "function" {
  count = var.authorizer == null ? 0 : 1

  api_id                            = aws_apigatewayv2_api.this.id
  name                              = "${local.name}-authorizer"
  authorizer_type                   = "REQUEST"
  authorizer_uri                    = var.authorizer.invoke_arn
  authorizer_payload_format_version = "2.0"
  enable_simple_responses           = true
  authorizer_result_ttl_in_seconds  = var.authorizer.ttl_seconds
  identity_sources                  = var.authorizer.identity_sources
}

resource "aws_apigatewayv2_authorizer" "jwt" {
  count = var.jwt == null ? 0 : 1

  api_id           = aws_apigatewayv2_api.this.id
  name             = "${local.name}-jwt"
  authorizer_type  = "JWT"
  identity_sources = [var.jwt.identity_source]

  jwt_configuration {
    issuer   = var.jwt.issuer
    audience = var.jwt.audience
  }
}

resource "aws_apigatewayv2_integration" "this" {
  for_each = var.routes

  api_id                 = aws_apigatewayv2_api.this.id
  integration_type       = "AWS_PROXY"
  integration_method     = "POST"
  integration_uri        = each.value.invoke_arn
  payload_format_version = "2.0"
  timeout_milliseconds   = 30000
}

resource "aws_apigatewayv2_route" "this" {
  for_each = var.routes

  api_id             = aws_apigatewayv2_api.this.id
  route_key          = each.key
  target             = "integrations/${aws_apigatewayv2_integration.this[each.key].id}"
  authorization_type = each.value.authorization
  authorizer_id      = local.authorizer_ids[each.value.authorization]
}

resource "aws_cloudwatch_log_group" "access" {
  name              = "/aws/apigateway/${local.name}/access"
  retention_in_days = var.log_retention_days
  kms_key_id        = var.log_kms_key_arn
  tags              = var.tags
}

# The stage $default is the root of the URL, so paths have no stage before them.
resource "aws_apigatewayv2_stage" "this" {
  api_id      = aws_apigatewayv2_api.this.id
  name        = "$default"
  auto_deploy = true
  tags        = var.tags

  access_log_settings {
    destination_arn = local.log_group_arn
    format          = local.access_log_format
  }

  default_route_settings {
    throttling_burst_limit   = var.throttle_burst_limit
    throttling_rate_limit    = var.throttle_rate_limit
    data_trace_enabled       = false # It would write whole requests to the log.
    detailed_metrics_enabled = var.detailed_metrics_enabled
  }

  # The first deployment needs a route to deploy.
  depends_on = [aws_apigatewayv2_route.this]

  # Deployments are the stage's own doing; they would show as a change of ours.
  lifecycle {
    ignore_changes = [deployment_id]
  }
}
