# What is made, what it is called, and what the policy allows.

mock_provider "aws" {
  # Values that the rest of the module hands on, where a made-up word would not do.

  mock_resource "aws_dynamodb_table" {
    defaults = {
      arn        = "arn:aws:dynamodb:eu-central-1:123456789012:table/mocked"
      stream_arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/mocked/stream/2030-01-01T00:00:00.000"
    }
  }

  mock_data "aws_caller_identity" {
    defaults = {
      account_id = "123456789012"
    }
  }

  mock_data "aws_partition" {
    defaults = {
      partition  = "aws"
      dns_suffix = "amazonaws.com"
    }
  }

  mock_data "aws_region" {
    defaults = {
      region = "eu-central-1"
    }
  }
}

variables {
  name_prefix = "notes-dev"
  tags        = { Project = "notes" }
}

run "defaults" {
  assert {
    condition     = output.table_name == "notes-dev-idempotency" && output.table_arn == "arn:aws:dynamodb:eu-central-1:123456789012:table/notes-dev-idempotency"
    error_message = "The table must be called by the prefix."
  }

  assert {
    condition     = aws_dynamodb_table.this.tags == tomap({ Project = "notes" })
    error_message = "The table must carry the tags."
  }

  assert {
    condition     = aws_dynamodb_table.this.hash_key == "id" && one(aws_dynamodb_table.this.attribute) == { name = "id", type = "S" } && one(aws_dynamodb_table.this.ttl).attribute_name == "expiration" && one(aws_dynamodb_table.this.ttl).enabled
    error_message = "Key and expiry must be named as the idempotency library expects them."
  }

  assert {
    condition     = aws_dynamodb_table.this.billing_mode == "PAY_PER_REQUEST" && one(aws_dynamodb_table.this.server_side_encryption).enabled
    error_message = "The table must be on demand and encrypted."
  }

  assert {
    condition     = jsondecode(output.policy_json).Statement == [{ Sid = "Idempotency", Effect = "Allow", Action = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"], Resource = output.table_arn }]
    error_message = "The policy must allow the four actions on this table only."
  }
}

run "switches" {
  command = plan

  variables {
    table_name             = "once"
    point_in_time_recovery = true
    deletion_protection    = true
  }

  assert {
    condition     = aws_dynamodb_table.this.name == "notes-dev-once" && aws_dynamodb_table.this.deletion_protection_enabled && one(aws_dynamodb_table.this.point_in_time_recovery).enabled
    error_message = "The switches must reach the table."
  }
}
