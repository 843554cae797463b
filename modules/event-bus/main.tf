data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  name       = "${var.name_prefix}-${var.bus_name}"
  place      = "${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}"
  events_arn = "arn:${data.aws_partition.current.partition}:events:${local.place}"

  archive_name = replace(local.name, "/[^A-Za-z0-9._-]/", "-")

  # Known at plan; the references keep the order of creation.
  bus_arn = "${local.events_arn}:event-bus/${aws_cloudwatch_event_bus.this.name}"
  dlq_arn = join("", [for queue in aws_sqs_queue.dlq : "arn:${data.aws_partition.current.partition}:sqs:${local.place}:${queue.name}"])
}

resource "aws_cloudwatch_event_bus" "this" {
  name               = local.name
  description        = var.description
  kms_key_identifier = var.kms_key_arn
  tags               = var.tags
}

resource "aws_cloudwatch_event_bus_policy" "this" {
  count = length(var.allowed_account_ids) > 0 ? 1 : 0

  event_bus_name = aws_cloudwatch_event_bus.this.name

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [for id in var.allowed_account_ids : {
      Sid       = "AllowAccount${id}"
      Effect    = "Allow"
      Principal = { AWS = "arn:${data.aws_partition.current.partition}:iam::${id}:root" }
      Action    = "events:PutEvents"
      Resource  = local.bus_arn
    }]
  })
}

resource "aws_cloudwatch_event_archive" "this" {
  count = var.archive_enabled ? 1 : 0

  name             = length(local.archive_name) <= 48 ? local.archive_name : "${substr(local.archive_name, 0, 39)}-${substr(sha1(local.name), 0, 8)}"
  description      = "Events of ${local.name}."
  event_source_arn = local.bus_arn
  retention_days   = var.archive_retention_days
}

resource "aws_sqs_queue" "dlq" {
  count = var.dead_letter_queue_enabled ? 1 : 0

  name                      = "${replace(local.name, ".", "-")}-dlq"
  message_retention_seconds = 1209600
  receive_wait_time_seconds = 20
  sqs_managed_sse_enabled   = true
  tags                      = var.tags

  lifecycle {
    precondition {
      condition     = length(local.name) <= 76
      error_message = "\"${local.name}\" is too long: name_prefix and bus_name together must have at most 75 characters."
    }
  }
}

resource "aws_sqs_queue_policy" "dlq" {
  count = var.dead_letter_queue_enabled ? 1 : 0

  queue_url = aws_sqs_queue.dlq[0].url

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "DenyPlainHttp"
        Effect    = "Deny"
        Principal = "*"     # policy: a refusal must hold for everybody.
        Action    = "sqs:*" # policy: a refusal must hold for every action.
        Resource  = local.dlq_arn
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      },
      {
        # Without this the rules' failed events would be lost without a word.
        Sid       = "AllowRulesOfThisBus"
        Effect    = "Allow"
        Principal = { Service = "events.amazonaws.com" }
        Action    = "sqs:SendMessage"
        Resource  = local.dlq_arn
        Condition = { ArnLike = { "aws:SourceArn" = "${local.events_arn}:rule/${local.name}/*" } }
      },
    ]
  })
}
