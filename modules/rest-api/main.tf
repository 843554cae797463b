data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  name           = "${var.name_prefix}-api"
  has_authorizer = var.authorizer_enabled == null ? var.authorizer_function_invoke_arn != null : var.authorizer_enabled

  log_group_arn = "arn:${data.aws_partition.current.partition}:logs:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:log-group:${aws_cloudwatch_log_group.access.name}"

  cors_headers = var.cors_allow_origin == null ? {} : merge(
    {
      "gatewayresponse.header.Access-Control-Allow-Origin"  = "'${var.cors_allow_origin}'"
      "gatewayresponse.header.Access-Control-Allow-Headers" = "'${join(",", concat(["Authorization", "Content-Type", "X-Api-Key", "X-Correlation-Id"], var.cors_allow_headers))}'"
      "gatewayresponse.header.Access-Control-Allow-Methods" = "'DELETE,GET,HEAD,OPTIONS,PATCH,POST,PUT'"
    },
    # A response that differs by origin must not be cached for all of them.
    { for origin in [var.cors_allow_origin] : "gatewayresponse.header.Vary" => "'Origin'" if origin != "*" },
  )

  # The same fields as the functions' own errors. messageString is quoted already.
  error_body = "{\"message\":$context.error.messageString,\"code\":\"$context.error.responseType\",\"requestId\":\"$context.requestId\",\"correlationId\":\"$context.requestId\"}"

  # Names follow the access log variables. The route stands for the path, which may
  # hold a secret, such as the token of a password reset. Numbers stay strings: a request that
  # failed early has "-" in their place.
  access_log_format = jsonencode({
    requestId          = "$context.requestId"
    extendedRequestId  = "$context.extendedRequestId"
    requestTime        = "$context.requestTime"
    httpMethod         = "$context.httpMethod"
    resourcePath       = "$context.resourcePath"
    protocol           = "$context.protocol"
    status             = "$context.status"
    responseLength     = "$context.responseLength"
    responseLatency    = "$context.responseLatency"
    integrationLatency = "$context.integrationLatency"
    integrationStatus  = "$context.integration.status"
    authorizerStatus   = "$context.authorizer.status"
    errorType          = "$context.error.responseType"
    integrationError   = "$context.integration.error"
    sourceIp           = "$context.identity.sourceIp"
    userAgent          = "$context.identity.userAgent"
    xrayTraceId        = "$context.xrayTraceId"
  })

  private_policy = {
    Version = "2012-10-17"
    Statement = [{
      Sid       = "AllowVpcEndpoints"
      Effect    = "Allow"
      Principal = "*" # policy: bounded by the endpoints named below; methods still ask for their authorisation.
      Action    = "execute-api:Invoke"
      Resource  = "${aws_api_gateway_rest_api.this.execution_arn}/*"
      Condition = { StringEquals = { "aws:SourceVpce" = var.vpc_endpoint_ids } }
    }]
  }
}

resource "aws_api_gateway_rest_api" "this" {
  name                         = local.name
  description                  = var.description
  binary_media_types           = length(var.binary_media_types) > 0 ? var.binary_media_types : null
  minimum_compression_size     = var.minimum_compression_bytes
  disable_execute_api_endpoint = var.disable_execute_api_endpoint
  tags                         = var.tags

  endpoint_configuration {
    types            = [var.endpoint_type]
    vpc_endpoint_ids = length(var.vpc_endpoint_ids) > 0 ? var.vpc_endpoint_ids : null
  }

  # A new API must be there before the stage leaves the old one.
  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_api_gateway_rest_api_policy" "private" {
  count = var.endpoint_type == "PRIVATE" ? 1 : 0

  rest_api_id = aws_api_gateway_rest_api.this.id
  policy      = jsonencode(local.private_policy)
}

resource "aws_api_gateway_authorizer" "this" {
  count = local.has_authorizer ? 1 : 0

  name                             = "${local.name}-authorizer"
  rest_api_id                      = aws_api_gateway_rest_api.this.id
  type                             = "REQUEST"
  authorizer_uri                   = var.authorizer_function_invoke_arn
  authorizer_result_ttl_in_seconds = var.authorizer_ttl_seconds
  identity_source                  = var.authorizer_identity_source
}

resource "aws_api_gateway_gateway_response" "this" {
  for_each = toset(["DEFAULT_4XX", "DEFAULT_5XX"])

  rest_api_id         = aws_api_gateway_rest_api.this.id
  response_type       = each.key
  response_parameters = local.cors_headers
  response_templates  = { "application/json" = local.error_body }
}

resource "aws_api_gateway_deployment" "this" {
  rest_api_id = aws_api_gateway_rest_api.this.id

  # Everything that a deployment freezes. What is left out here would not go live.
  triggers = {
    redeployment = sha1(jsonencode([
      var.redeployment_trigger,
      local.has_authorizer ? [var.authorizer_function_invoke_arn, var.authorizer_ttl_seconds, var.authorizer_identity_source] : [],
      local.cors_headers,
      local.error_body,
      var.endpoint_type,
      var.vpc_endpoint_ids,
      var.binary_media_types,
      var.minimum_compression_bytes,
      var.disable_execute_api_endpoint,
    ]))
  }

  # The stage must point to the new deployment before the old one can go.
  lifecycle {
    create_before_destroy = true
  }

  depends_on = [
    aws_api_gateway_authorizer.this,
    aws_api_gateway_gateway_response.this,
    aws_api_gateway_rest_api_policy.private,
  ]
}

resource "aws_cloudwatch_log_group" "access" {
  name              = "/aws/apigateway/${local.name}/${var.stage_name}/access"
  retention_in_days = var.log_retention_days
  kms_key_id        = var.log_kms_key_arn
  tags              = var.tags
}

resource "aws_api_gateway_stage" "this" {
  rest_api_id          = aws_api_gateway_rest_api.this.id
  deployment_id        = aws_api_gateway_deployment.this.id
  stage_name           = var.stage_name
  xray_tracing_enabled = var.xray_tracing_enabled
  tags                 = var.tags

  access_log_settings {
    destination_arn = local.log_group_arn
    format          = local.access_log_format
  }
}

resource "aws_api_gateway_method_settings" "all" {
  rest_api_id = aws_api_gateway_rest_api.this.id
  stage_name  = aws_api_gateway_stage.this.stage_name
  method_path = "*/*"

  settings {
    metrics_enabled        = var.detailed_metrics_enabled
    logging_level          = "ERROR"
    data_trace_enabled     = false # It would write whole requests, with their secrets, to the log.
    throttling_burst_limit = var.throttle_burst_limit
    throttling_rate_limit  = var.throttle_rate_limit
  }
}

resource "aws_api_gateway_usage_plan" "this" {
  count = var.create_usage_plan ? 1 : 0

  name        = "${local.name}-plan"
  description = "Limits of ${local.name} for callers with a key."
  tags        = var.tags

  api_stages {
    api_id = aws_api_gateway_rest_api.this.id
    stage  = aws_api_gateway_stage.this.stage_name
  }

  throttle_settings {
    burst_limit = var.throttle_burst_limit
    rate_limit  = var.throttle_rate_limit
  }

  quota_settings {
    limit  = var.quota_limit
    period = "DAY"
  }
}

resource "aws_api_gateway_api_key" "this" {
  count = var.create_usage_plan ? 1 : 0

  name        = "${local.name}-key"
  description = "Key to ${local.name}."
  tags        = var.tags
}

resource "aws_api_gateway_usage_plan_key" "this" {
  count = var.create_usage_plan ? 1 : 0

  key_id        = aws_api_gateway_api_key.this[0].id
  key_type      = "API_KEY"
  usage_plan_id = aws_api_gateway_usage_plan.this[0].id
}
