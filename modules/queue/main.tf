data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  suffix   = var.fifo_queue ? ".fifo" : ""
  arn_base = "arn:${data.aws_partition.current.partition}:sqs:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}"

  # Put together from what is known at plan, so that a module which takes the ARN
  # can decide by it; the reference to the name keeps the order of creation.
  queue_arn = "${local.arn_base}:${aws_sqs_queue.this.name}"
  dlq_arn   = "${local.arn_base}:${aws_sqs_queue.dlq.name}"

  tls_only = [for arn in [local.queue_arn, local.dlq_arn] : {
    Sid       = "DenyPlainHttp"
    Effect    = "Deny"
    Principal = "*"     # policy: a refusal must hold for everybody.
    Action    = "sqs:*" # policy: a refusal must hold for every action.
    Resource  = arn
    Condition = { Bool = { "aws:SecureTransport" = "false" } }
  }]

  senders = [for index, sender in var.allowed_senders : {
    Sid       = "AllowSender${index}"
    Effect    = "Allow"
    Principal = { Service = sender.service }
    Action    = "sqs:SendMessage"
    Resource  = local.queue_arn
    Condition = merge(
      { ArnLike = { "aws:SourceArn" = sender.source_arn } },
      # The ARN of a bucket does not tell whose it is.
      { for service in [sender.service] : "StringEquals" => { "aws:SourceAccount" = data.aws_caller_identity.current.account_id } if startswith(service, "s3.") },
    )
  }]

  send_policy = {
    Version = "2012-10-17"
    Statement = [{
      Sid      = "Send"
      Effect   = "Allow"
      Action   = ["sqs:SendMessage", "sqs:GetQueueUrl"]
      Resource = local.queue_arn
    }]
  }
}

resource "aws_sqs_queue" "this" {
  name                        = "${var.name_prefix}-${var.queue_name}${local.suffix}"
  fifo_queue                  = var.fifo_queue ? true : null
  content_based_deduplication = var.fifo_queue ? var.content_based_deduplication : null
  visibility_timeout_seconds  = var.visibility_timeout_seconds
  message_retention_seconds   = var.retention_seconds
  receive_wait_time_seconds   = var.receive_wait_time_seconds
  delay_seconds               = var.delay_seconds
  kms_master_key_id           = var.kms_key_arn
  sqs_managed_sse_enabled     = var.kms_key_arn == null ? true : null
  tags                        = var.tags
}

resource "aws_sqs_queue" "dlq" {
  name                      = "${var.name_prefix}-${var.queue_name}-dlq${local.suffix}"
  fifo_queue                = var.fifo_queue ? true : null
  message_retention_seconds = var.dlq_retention_seconds
  receive_wait_time_seconds = var.receive_wait_time_seconds
  kms_master_key_id         = var.kms_key_arn
  sqs_managed_sse_enabled   = var.kms_key_arn == null ? true : null
  tags                      = var.tags
}

# As resources of their own: in the queues each would need the other's ARN.
resource "aws_sqs_queue_redrive_policy" "this" {
  queue_url = aws_sqs_queue.this.url

  redrive_policy = jsonencode({
    deadLetterTargetArn = local.dlq_arn
    maxReceiveCount     = var.max_receive_count
  })
}

resource "aws_sqs_queue_redrive_allow_policy" "dlq" {
  queue_url = aws_sqs_queue.dlq.url

  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = [local.queue_arn]
  })
}

resource "aws_sqs_queue_policy" "this" {
  queue_url = aws_sqs_queue.this.url

  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = concat([local.tls_only[0]], local.senders)
  })
}

resource "aws_sqs_queue_policy" "dlq" {
  queue_url = aws_sqs_queue.dlq.url

  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [local.tls_only[1]]
  })
}

resource "aws_cloudwatch_metric_alarm" "dlq" {
  count = var.enable_dlq_alarm ? 1 : 0

  alarm_name          = "${aws_sqs_queue.dlq.name}-not-empty"
  alarm_description   = "Messages of ${aws_sqs_queue.this.name} failed ${var.max_receive_count} times and wait in ${aws_sqs_queue.dlq.name}. Find the cause in the consumer's log, mend it, then redrive them."
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateNumberOfMessagesVisible"
  dimensions          = { QueueName = aws_sqs_queue.dlq.name }
  statistic           = "Maximum"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  period              = 60
  evaluation_periods  = 1
  treat_missing_data  = "notBreaching" # An unused queue sends no data.
  alarm_actions       = compact(var.alarm_sns_topic_arns)
  ok_actions          = compact(var.alarm_sns_topic_arns)
  tags                = var.tags
}

resource "aws_cloudwatch_metric_alarm" "oldest_message" {
  count = var.oldest_message_alarm_seconds == null ? 0 : 1

  alarm_name          = "${aws_sqs_queue.this.name}-oldest-message"
  alarm_description   = "The oldest message of ${aws_sqs_queue.this.name} has waited for more than ${coalesce(var.oldest_message_alarm_seconds, 0)} s: the consumer is down, throttled or too slow."
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateAgeOfOldestMessage"
  dimensions          = { QueueName = aws_sqs_queue.this.name }
  statistic           = "Maximum"
  comparison_operator = "GreaterThanThreshold"
  threshold           = var.oldest_message_alarm_seconds
  period              = 60
  evaluation_periods  = 5
  treat_missing_data  = "notBreaching" # An unused queue sends no data.
  alarm_actions       = compact(var.alarm_sns_topic_arns)
  ok_actions          = compact(var.alarm_sns_topic_arns)
  tags                = var.tags
}
