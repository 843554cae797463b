# What is made, what it is called, and what the policies allow.

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
  table_name  = "visits"
  name_prefix = "notes-dev"
  hash_key    = "user_id"
  attributes  = [{ name = "user_id", type = "S" }]
  tags        = { Project = "notes" }
}

run "defaults" {
  assert {
    condition     = output.table_name == "notes-dev-visits" && output.table_arn == "arn:aws:dynamodb:eu-central-1:123456789012:table/notes-dev-visits"
    error_message = "The table must be called by prefix and short name."
  }

  assert {
    condition     = aws_dynamodb_table.this.tags == tomap({ Project = "notes" })
    error_message = "The table must carry the tags."
  }

  assert {
    condition     = aws_dynamodb_table.this.billing_mode == "PAY_PER_REQUEST" && aws_dynamodb_table.this.deletion_protection_enabled && one(aws_dynamodb_table.this.point_in_time_recovery).enabled && one(aws_dynamodb_table.this.server_side_encryption).enabled
    error_message = "The table must be on demand, protected, backed up and encrypted."
  }

  assert {
    condition     = length(aws_dynamodb_table.this.ttl) == 0 && length(aws_dynamodb_table.this.global_secondary_index) == 0 && output.stream_arn == ""
    error_message = "There must be no expiry, index or stream by default."
  }
}

run "everything" {
  variables {
    range_key        = "visited_at"
    ttl_attribute    = "expires_at"
    stream_view_type = "KEYS_ONLY"
    billing_mode     = "PROVISIONED"
    read_capacity    = 2

    attributes = [
      { name = "user_id", type = "S" },
      { name = "visited_at", type = "N" },
      { name = "page", type = "S" },
    ]

    global_secondary_indexes = [
      { name = "by-page", hash_key = "page", range_key = "visited_at", projection_type = "INCLUDE", non_key_attributes = ["title"], write_capacity = 3 },
    ]
  }

  assert {
    condition     = one(aws_dynamodb_table.this.ttl).attribute_name == "expires_at" && one(aws_dynamodb_table.this.ttl).enabled
    error_message = "Items must expire."
  }

  assert {
    condition     = one(aws_dynamodb_table.this.global_secondary_index).read_capacity == 2 && one(aws_dynamodb_table.this.global_secondary_index).write_capacity == 3 && one(aws_dynamodb_table.this.global_secondary_index).non_key_attributes == toset(["title"])
    error_message = "The index must have its settings, and the capacity of the table where it names none."
  }

  assert {
    condition     = aws_dynamodb_table.this.stream_enabled && aws_dynamodb_table.this.stream_view_type == "KEYS_ONLY" && output.stream_arn != ""
    error_message = "There must be a stream."
  }

  assert {
    condition     = jsondecode(output.read_policy_json).Statement[0].Resource == ["${output.table_arn}", "${output.table_arn}/index/by-page"]
    error_message = "The policy must name the table and its index."
  }
}

run "policies_name_their_actions" {
  assert {
    condition     = jsondecode(output.read_policy_json).Statement[0].Action == ["dynamodb:BatchGetItem", "dynamodb:ConditionCheckItem", "dynamodb:GetItem", "dynamodb:Query", "dynamodb:Scan"]
    error_message = "Reading must be reading only."
  }

  assert {
    condition     = alltrue([for action in jsondecode(output.read_write_policy_json).Statement[0].Action : !strcontains(action, "*")]) && jsondecode(output.read_write_policy_json).Statement[0].Resource == [output.table_arn]
    error_message = "Reading and writing must name actions and table."
  }
}

run "switches" {
  command = plan

  variables {
    point_in_time_recovery = false
    deletion_protection    = false
    table_name_override    = "legacy.visits"
    kms_key_arn            = "arn:aws:kms:eu-central-1:123456789012:key/own"
  }

  assert {
    condition     = aws_dynamodb_table.this.name == "legacy.visits" && !aws_dynamodb_table.this.deletion_protection_enabled && !one(aws_dynamodb_table.this.point_in_time_recovery).enabled
    error_message = "The switches must reach the table."
  }

  assert {
    condition     = one(aws_dynamodb_table.this.server_side_encryption).kms_key_arn == "arn:aws:kms:eu-central-1:123456789012:key/own"
    error_message = "The key must reach the table."
  }
}
