data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  provisioned = var.billing_mode == "PROVISIONED"

  # Known at plan; the reference keeps the order of creation.
  table_arn = "arn:${data.aws_partition.current.partition}:dynamodb:${data.aws_region.current.region}:${data.aws_caller_identity.current.account_id}:table/${aws_dynamodb_table.this.name}"

  # Indexes are resources of their own; without one the entry would name nothing.
  policy_resources = concat([local.table_arn], [for index in var.global_secondary_indexes : "${local.table_arn}/index/${index.name}"])

  read_actions  = ["dynamodb:BatchGetItem", "dynamodb:ConditionCheckItem", "dynamodb:GetItem", "dynamodb:Query", "dynamodb:Scan"]
  write_actions = ["dynamodb:BatchWriteItem", "dynamodb:DeleteItem", "dynamodb:PutItem", "dynamodb:UpdateItem"]
}

resource "aws_dynamodb_table" "this" {
  name                        = var.table_name_override == null ? "${var.name_prefix}-${var.table_name}" : var.table_name_override
  billing_mode                = var.billing_mode
  hash_key                    = var.hash_key
  range_key                   = var.range_key
  read_capacity               = local.provisioned ? var.read_capacity : null
  write_capacity              = local.provisioned ? var.write_capacity : null
  deletion_protection_enabled = var.deletion_protection
  stream_enabled              = var.stream_view_type == null ? null : true
  stream_view_type            = var.stream_view_type
  tags                        = var.tags

  dynamic "attribute" {
    for_each = var.attributes

    content {
      name = attribute.value.name
      type = attribute.value.type
    }
  }

  dynamic "global_secondary_index" {
    for_each = var.global_secondary_indexes

    content {
      name               = global_secondary_index.value.name
      hash_key           = global_secondary_index.value.hash_key
      range_key          = global_secondary_index.value.range_key
      projection_type    = global_secondary_index.value.projection_type
      non_key_attributes = global_secondary_index.value.non_key_attributes
      read_capacity      = local.provisioned ? coalesce(global_secondary_index.value.read_capacity, var.read_capacity) : null
      write_capacity     = local.provisioned ? coalesce(global_secondary_index.value.write_capacity, var.write_capacity) : null
    }
  }

  dynamic "ttl" {
    for_each = var.ttl_attribute == null ? [] : [var.ttl_attribute]

    content {
      enabled        = true
      attribute_name = ttl.value
    }
  }

  point_in_time_recovery {
    enabled = var.point_in_time_recovery
  }

  server_side_encryption {
    enabled     = true
    kms_key_arn = var.kms_key_arn
  }
}
