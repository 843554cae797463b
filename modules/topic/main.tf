data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  name = "${var.name_prefix}-${var.topic_name}${var.fifo_topic ? ".fifo" : ""}"

  # Known at plan; the reference keeps the order of creation.
  topic_arn = "arn:${data.aws_partition.current.partition}:sns:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:${aws_sns_topic.this.name}"
  root_arn  = "arn:${data.aws_partition.current.partition}:iam::${data.aws_caller_identity.current.account_id}:root"

  aws_platforms = {
    PUSH_A         = "APNS"
    PUSH_A_SANDBOX = "APNS_SANDBOX"
    PUSH_B         = "GCM"
  }

  key_arn = var.create_kms_key ? one(aws_kms_key.this[*].arn) : (var.kms_key_arn == null ? "alias/aws/sns" : var.kms_key_arn)

  publishers = [for index, publisher in var.publisher_services : {
    Sid       = "AllowService${index}"
    Effect    = "Allow"
    Principal = { Service = publisher.service }
    Action    = "sns:Publish"
    Resource  = local.topic_arn
    Condition = merge(
      { ArnLike = { "aws:SourceArn" = publisher.source_arn } },
      # The ARN of a bucket does not tell whose it is.
      { for service in [publisher.service] : "StringEquals" => { "aws:SourceAccount" = data.aws_caller_identity.current.account_id } if startswith(service, "s3.") },
    )
  }]

  key_users = [for service in distinct(var.publisher_services[*].service) : {
    Sid       = replace("Use${title(replace(service, ".", " "))}", " ", "")
    Effect    = "Allow"
    Principal = { Service = service }
    Action    = ["kms:Decrypt", "kms:GenerateDataKey"]
    Resource  = "*" # policy: in a key's own policy this is the key itself.
    # EventBridge asks the key without saying for whom; with a condition its
    # messages would be lost.
    Condition = { for name in [service] : "StringEquals" => { "aws:SourceAccount" = data.aws_caller_identity.current.account_id } if !startswith(name, "events.") }
  }]
}

resource "aws_kms_key" "this" {
  count = var.create_kms_key ? 1 : 0

  description             = "Messages of the topic ${local.name}."
  enable_key_rotation     = true
  deletion_window_in_days = 30
  tags                    = var.tags

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [{
        Sid       = "Administer"
        Effect    = "Allow"
        Principal = { AWS = local.root_arn }
        Action    = "kms:*" # policy: without it the key could not be changed any more; roles still need their own policy.
        Resource  = "*"     # policy: in a key's own policy this is the key itself.
      }],
      local.key_users,
    )
  })
}

resource "aws_kms_alias" "this" {
  count = var.create_kms_key ? 1 : 0

  name          = "alias/${replace(local.name, ".", "-")}"
  target_key_id = aws_kms_key.this[0].key_id
}

resource "aws_sns_topic" "this" {
  name                        = local.name
  fifo_topic                  = var.fifo_topic ? true : null
  content_based_deduplication = var.fifo_topic ? var.content_based_deduplication : null
  kms_master_key_id           = local.key_arn
  signature_version           = 2
  tags                        = var.tags
}

resource "aws_sns_topic_policy" "this" {
  arn = aws_sns_topic.this.arn

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [{
        Sid       = "DenyPlainHttp"
        Effect    = "Deny"
        Principal = "*" # policy: a refusal must hold for everybody.
        Action    = "sns:Publish"
        Resource  = local.topic_arn
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      }],
      local.publishers,
    )
  })
}

resource "aws_sns_topic_subscription" "this" {
  for_each = var.subscriptions

  topic_arn             = aws_sns_topic.this.arn
  protocol              = each.value.protocol
  endpoint              = each.value.endpoint
  filter_policy         = each.value.filter_policy
  filter_policy_scope   = each.value.filter_policy_scope
  raw_message_delivery  = each.value.raw_message_delivery
  subscription_role_arn = each.value.subscription_role_arn
  redrive_policy        = each.value.dead_letter_queue_arn == null ? null : jsonencode({ deadLetterTargetArn = each.value.dead_letter_queue_arn })
}

resource "aws_sns_platform_application" "this" {
  count = var.platform == null ? 0 : 1

  name                     = local.name
  platform                 = lookup(local.aws_platforms, coalesce(var.platform, "none"), var.platform)
  platform_credential      = var.platform_credential
  platform_principal       = var.platform_principal
  apple_platform_team_id   = var.apple_platform_team_id
  apple_platform_bundle_id = var.apple_platform_bundle_id
}
