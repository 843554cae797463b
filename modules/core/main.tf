data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  name_prefix = "${var.project_name}-${var.environment}"

  common_tags = merge(
    {
      Project     = var.project_name
      Environment = var.environment
      ManagedBy   = "terraform"
    },
    var.extra_tags,
  )

  # Who may take on a role, by kind of function. The documents are made with
  # jsonencode, so that they are known at plan and readable in it.
  assume_services = {
    function = ["lambda.amazonaws.com"]
    gateway  = ["lambda.amazonaws.com", "apigateway.amazonaws.com"]
    edge     = ["lambda.amazonaws.com", "edgelambda.amazonaws.com"]
  }

  assume_role_policies = {
    for kind, services in local.assume_services : kind => jsonencode({
      Version = "2012-10-17"
      Statement = [{
        Effect    = "Allow"
        Action    = "sts:AssumeRole"
        Principal = { Service = services }
      }]
    })
  }
}

resource "aws_iam_policy" "xray" {
  name        = "${local.name_prefix}-function-xray"
  description = "Lets functions of ${local.name_prefix} send traces to X-Ray."
  tags        = local.common_tags

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid    = "SendTraces"
      Effect = "Allow"
      Action = [
        "xray:PutTraceSegments",
        "xray:PutTelemetryRecords",
        "xray:GetSamplingRules",
        "xray:GetSamplingTargets",
      ]
      Resource = "*" # policy: X-Ray has no resource to name for these actions.
    }]
  })
}

resource "aws_iam_role" "api_gateway_logs" {
  count = var.manage_api_gateway_account ? 1 : 0

  name        = "${local.name_prefix}-api-gateway-logs"
  description = "Lets API Gateway write the logs of all APIs of this account and region."
  tags        = local.common_tags

  permissions_boundary = var.permissions_boundary_arn

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "apigateway.amazonaws.com" }
    }]
  })
}

resource "aws_iam_role_policy_attachment" "api_gateway_logs" {
  count = var.manage_api_gateway_account ? 1 : 0

  role       = aws_iam_role.api_gateway_logs[0].name
  policy_arn = "arn:${data.aws_partition.current.partition}:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs"
}

resource "aws_api_gateway_account" "this" {
  count = var.manage_api_gateway_account ? 1 : 0

  cloudwatch_role_arn = aws_iam_role.api_gateway_logs[0].arn

  # API Gateway tries the role when it is entered.
  depends_on = [aws_iam_role_policy_attachment.api_gateway_logs]
}
