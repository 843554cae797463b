# What is made, what it is called, and what the policies allow.

mock_provider "aws" {
  # Values that the rest of the module hands on, where a made-up word would not do.

  mock_resource "aws_sqs_queue" {
    defaults = {
      arn = "arn:aws:sqs:eu-central-1:123456789012:mocked"
      url = "https://sqs.eu-central-1.amazonaws.com/123456789012/mocked"
    }
  }

  mock_resource "aws_cloudwatch_event_bus" {
    defaults = {
      arn = "arn:aws:events:eu-central-1:123456789012:event-bus/mocked"
    }
  }

  mock_resource "aws_cloudwatch_event_archive" {
    defaults = {
      arn = "arn:aws:events:eu-central-1:123456789012:archive/mocked"
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
  bus_name    = "domain"
  name_prefix = "notes-dev"
  tags        = { Project = "notes" }
}

run "defaults" {
  assert {
    condition     = output.bus_name == "notes-dev-domain" && output.bus_arn == "arn:aws:events:eu-central-1:123456789012:event-bus/notes-dev-domain"
    error_message = "The bus must be called by prefix and short name."
  }

  assert {
    condition     = aws_cloudwatch_event_bus.this.tags == tomap({ Project = "notes" }) && aws_sqs_queue.dlq[0].tags == tomap({ Project = "notes" })
    error_message = "Bus and queue must carry the tags."
  }

  assert {
    condition     = length(aws_cloudwatch_event_archive.this) == 0 && length(aws_cloudwatch_event_bus_policy.this) == 0
    error_message = "There must be no archive and no other account by default."
  }

  assert {
    condition     = aws_sqs_queue.dlq[0].sqs_managed_sse_enabled && aws_sqs_queue.dlq[0].message_retention_seconds == 1209600
    error_message = "The dead-letter queue must be encrypted and keep messages for 14 days."
  }

  assert {
    condition     = output.dead_letter_queue_arn == "arn:aws:sqs:eu-central-1:123456789012:notes-dev-domain-dlq"
    error_message = "The dead-letter queue must be named after the bus."
  }
}

run "dead_letters_come_from_rules_of_this_bus" {
  assert {
    condition = jsondecode(aws_sqs_queue_policy.dlq[0].policy).Statement[1] == {
      Sid       = "AllowRulesOfThisBus"
      Effect    = "Allow"
      Principal = { Service = "events.amazonaws.com" }
      Action    = "sqs:SendMessage"
      Resource  = output.dead_letter_queue_arn
      Condition = { ArnLike = { "aws:SourceArn" = "arn:aws:events:eu-central-1:123456789012:rule/notes-dev-domain/*" } }
    }
    error_message = "Only rules of this bus may send."
  }

  assert {
    condition     = jsondecode(aws_sqs_queue_policy.dlq[0].policy).Statement[0].Effect == "Deny" && jsondecode(aws_sqs_queue_policy.dlq[0].policy).Statement[0].Condition == { Bool = { "aws:SecureTransport" = "false" } }
    error_message = "Plain HTTP must be refused."
  }

  assert {
    condition     = jsondecode(output.put_events_policy_json).Statement == [{ Sid = "PutEvents", Effect = "Allow", Action = "events:PutEvents", Resource = output.bus_arn }]
    error_message = "The policy must allow putting events on this bus only."
  }
}

run "without_dead_letter_queue" {
  variables {
    dead_letter_queue_enabled = false
  }

  assert {
    condition     = length(aws_sqs_queue.dlq) == 0 && length(aws_sqs_queue_policy.dlq) == 0 && output.dead_letter_queue_arn == "" && output.dead_letter_queue_name == ""
    error_message = "The switch must take the queue away."
  }
}

run "with_archive" {
  variables {
    archive_enabled        = true
    archive_retention_days = 7
  }

  assert {
    condition     = aws_cloudwatch_event_archive.this[0].retention_days == 7 && aws_cloudwatch_event_archive.this[0].event_source_arn == output.bus_arn
    error_message = "The archive must keep the events of this bus for the days given."
  }
}

run "archive_of_a_long_name" {
  variables {
    bus_name        = "events-of-the-department-of-orders-and-returns"
    archive_enabled = true
  }

  assert {
    condition     = length(aws_cloudwatch_event_archive.this[0].name) == 48 && endswith(aws_cloudwatch_event_archive.this[0].name, "-${substr(sha1(output.bus_name), 0, 8)}")
    error_message = "Long names with one beginning must have archives of their own."
  }
}

run "other_accounts" {
  variables {
    allowed_account_ids = ["210987654321"]
  }

  assert {
    condition     = jsondecode(aws_cloudwatch_event_bus_policy.this[0].policy).Statement[0].Principal == { AWS = "arn:aws:iam::210987654321:root" } && jsondecode(aws_cloudwatch_event_bus_policy.this[0].policy).Statement[0].Resource == output.bus_arn
    error_message = "The account given, and only it, may put events on this bus."
  }
}
