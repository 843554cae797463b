data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  region     = data.aws_region.current.region
  account_id = data.aws_caller_identity.current.account_id
  partition  = data.aws_partition.current.partition
  name       = "${var.name_prefix}-alarms"
  topic_arn  = join("", [for topic in aws_sns_topic.alarms : "arn:${local.partition}:sns:${local.region}:${local.account_id}:${topic.name}"])
  with_key   = var.enable_alarms && var.create_kms_key

  has_api      = var.api_gateway_name != null
  has_database = var.distsql_cluster_identifier != null

  rule_dimensions = { for name in var.eventbridge_rule_names : name => merge(
    { RuleName = name },
    { for bus in [var.event_bus_name] : "EventBusName" => bus if bus != null && bus != "default" },
  ) }

  # Every alarm by its name; one resource below makes them all. None of these
  # metrics is sent while nothing happens, so missing data means that all is well.
  function_alarms = merge(flatten([for name in var.lambda_function_names : [
    {
      "${name}-errors" = {
        description         = "${name} failed ${var.lambda_error_threshold} times or more within five minutes. Look for level ERROR in its log group."
        namespace           = "AWS/Lambda"
        metric_name         = "Errors"
        dimensions          = { FunctionName = name }
        statistic           = "Sum"
        comparison_operator = "GreaterThanOrEqualToThreshold"
        threshold           = var.lambda_error_threshold
        period              = 300
        evaluation_periods  = 1
        datapoints_to_alarm = null
        treat_missing_data  = "notBreaching"
      }
      "${name}-throttles" = {
        description         = "Invocations of ${name} were refused for want of concurrency. Look at its reserved concurrency and at the account's limit."
        namespace           = "AWS/Lambda"
        metric_name         = "Throttles"
        dimensions          = { FunctionName = name }
        statistic           = "Sum"
        comparison_operator = "GreaterThanOrEqualToThreshold"
        threshold           = var.lambda_throttle_threshold
        period              = 300
        evaluation_periods  = 1
        datapoints_to_alarm = null
        treat_missing_data  = "notBreaching"
      }
    },
    { for threshold in [var.lambda_duration_threshold_ms] : "${name}-duration" => {
      description         = "One call in a hundred of ${name} takes longer than ${coalesce(threshold, 0)} ms, for a quarter of an hour."
      namespace           = "AWS/Lambda"
      metric_name         = "Duration"
      dimensions          = { FunctionName = name }
      statistic           = "p99"
      comparison_operator = "GreaterThanThreshold"
      threshold           = threshold
      period              = 300
      evaluation_periods  = 3
      datapoints_to_alarm = null
      treat_missing_data  = "notBreaching"
    } if threshold != null },
  ]])...)

  api_alarms = merge(
    { for name in [var.api_gateway_name] : "${coalesce(name, "api")}-5xx" => {
      description         = "${coalesce(name, "api")} answered ${var.api_5xx_threshold} times or more with 5XX within five minutes. The access log names path and error, the functions' logs the cause."
      namespace           = "AWS/ApiGateway"
      metric_name         = "5XXError"
      dimensions          = { ApiName = name }
      statistic           = "Sum"
      comparison_operator = "GreaterThanOrEqualToThreshold"
      threshold           = var.api_5xx_threshold
      period              = 300
      evaluation_periods  = 1
      datapoints_to_alarm = null
      treat_missing_data  = "notBreaching"
    } if local.has_api },
    { for name in [var.api_gateway_name] : "${coalesce(name, "api")}-latency" => {
      description         = "One request in twenty to ${coalesce(name, "api")} takes longer than ${coalesce(var.api_latency_threshold_ms, 0)} ms, for a quarter of an hour."
      namespace           = "AWS/ApiGateway"
      metric_name         = "Latency"
      dimensions          = { ApiName = name }
      statistic           = "p95"
      comparison_operator = "GreaterThanThreshold"
      threshold           = var.api_latency_threshold_ms
      period              = 300
      evaluation_periods  = 3
      datapoints_to_alarm = null
      treat_missing_data  = "notBreaching"
    } if local.has_api && var.api_latency_threshold_ms != null },
  )

  queue_alarms = { for name in var.sqs_dlq_names : "${name}-messages" => {
    description         = "Messages wait in ${name}: their consumer gave them up. Find the cause in its log, mend it, then redrive them."
    namespace           = "AWS/SQS"
    metric_name         = "ApproximateNumberOfMessagesVisible"
    dimensions          = { QueueName = name }
    statistic           = "Maximum"
    comparison_operator = "GreaterThanThreshold"
    threshold           = 0
    period              = 60
    evaluation_periods  = 1
    datapoints_to_alarm = null
    treat_missing_data  = "notBreaching"
  } }

  rule_alarms = { for name in var.eventbridge_rule_names : "${name}-failed-invocations" => {
    description         = "A target of the rule ${name} did not take an event. Look at the target's permission and at the rule's dead-letter queue."
    namespace           = "AWS/Events"
    metric_name         = "FailedInvocations"
    dimensions          = local.rule_dimensions[name]
    statistic           = "Sum"
    comparison_operator = "GreaterThanThreshold"
    threshold           = 0
    period              = 300
    evaluation_periods  = 1
    datapoints_to_alarm = null
    treat_missing_data  = "notBreaching"
  } }

  custom_alarms = { for alarm in var.custom_alarms : "${var.name_prefix}-${alarm.name}" => {
    description         = alarm.description
    namespace           = alarm.namespace
    metric_name         = alarm.metric_name
    dimensions          = alarm.dimensions
    statistic           = alarm.statistic
    comparison_operator = alarm.comparison_operator
    threshold           = alarm.threshold
    period              = alarm.period
    evaluation_periods  = alarm.evaluation_periods
    datapoints_to_alarm = alarm.datapoints_to_alarm
    treat_missing_data  = alarm.treat_missing_data
  } }

  alarms = merge(local.function_alarms, local.api_alarms, local.queue_alarms, local.rule_alarms, local.custom_alarms)
}

resource "aws_kms_key" "alarms" {
  count = local.with_key ? 1 : 0

  description             = "Messages of the topic ${local.name}."
  enable_key_rotation     = true
  deletion_window_in_days = 30
  tags                    = var.tags

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "Administer"
        Effect    = "Allow"
        Principal = { AWS = "arn:${local.partition}:iam::${local.account_id}:root" }
        Action    = "kms:*" # policy: without it the key could not be changed any more; roles still need their own policy.
        Resource  = "*"     # policy: in a key's own policy this is the key itself.
      },
      {
        Sid       = "UseByAlarms"
        Effect    = "Allow"
        Principal = { Service = "cloudwatch.amazonaws.com" }
        Action    = ["kms:Decrypt", "kms:GenerateDataKey"]
        Resource  = "*" # policy: in a key's own policy this is the key itself.
        Condition = { StringEquals = { "aws:SourceAccount" = local.account_id } }
      },
    ]
  })
}

resource "aws_kms_alias" "alarms" {
  count = local.with_key ? 1 : 0

  name          = "alias/${local.name}"
  target_key_id = aws_kms_key.alarms[0].key_id
}

resource "aws_sns_topic" "alarms" {
  count = var.enable_alarms ? 1 : 0

  name              = local.name
  kms_master_key_id = var.create_kms_key ? aws_kms_key.alarms[0].arn : var.kms_key_arn
  signature_version = 2
  tags              = var.tags
}

resource "aws_sns_topic_policy" "alarms" {
  count = var.enable_alarms ? 1 : 0

  arn = aws_sns_topic.alarms[0].arn

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "DenyPlainHttp"
        Effect    = "Deny"
        Principal = "*" # policy: a refusal must hold for everybody.
        Action    = "sns:Publish"
        Resource  = local.topic_arn
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      },
      {
        Sid       = "AllowAlarms"
        Effect    = "Allow"
        Principal = { Service = "cloudwatch.amazonaws.com" }
        Action    = "sns:Publish"
        Resource  = local.topic_arn
        Condition = {
          ArnLike      = { "aws:SourceArn" = "arn:${local.partition}:cloudwatch:${local.region}:${local.account_id}:alarm:*" }
          StringEquals = { "aws:SourceAccount" = local.account_id }
        }
      },
    ]
  })
}

resource "aws_sns_topic_subscription" "email" {
  for_each = toset(var.enable_alarms ? var.alarm_email_endpoints : [])

  topic_arn = aws_sns_topic.alarms[0].arn
  protocol  = "email"
  endpoint  = each.key
}

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = { for name, alarm in local.alarms : name => alarm if var.enable_alarms }

  alarm_name          = each.key
  alarm_description   = each.value.description
  namespace           = each.value.namespace
  metric_name         = each.value.metric_name
  dimensions          = each.value.dimensions
  statistic           = startswith(each.value.statistic, "p") ? null : each.value.statistic
  extended_statistic  = startswith(each.value.statistic, "p") ? each.value.statistic : null
  comparison_operator = each.value.comparison_operator
  threshold           = each.value.threshold
  period              = each.value.period
  evaluation_periods  = each.value.evaluation_periods
  datapoints_to_alarm = each.value.datapoints_to_alarm
  treat_missing_data  = each.value.treat_missing_data
  alarm_actions       = [local.topic_arn]
  ok_actions          = [local.topic_arn]
  tags                = var.tags
}

resource "aws_cloudwatch_dashboard" "this" {
  count = var.enable_dashboard ? 1 : 0

  dashboard_name = var.name_prefix
  dashboard_body = jsonencode({ widgets = local.widgets })
}
