# Which alarms and widgets are made, and what the policies allow.

mock_provider "aws" {
  # Values that the rest of the module hands on, where a made-up word would not do.

  mock_resource "aws_sns_topic" {
    defaults = {
      arn = "arn:aws:sns:eu-central-1:123456789012:mocked"
    }
  }

  mock_resource "aws_kms_key" {
    defaults = {
      arn = "arn:aws:kms:eu-central-1:123456789012:key/11111111-2222-3333-4444-555555555555"
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
    condition     = output.sns_topic_arn == "arn:aws:sns:eu-central-1:123456789012:notes-dev-alarms" && length(output.alarm_names) == 0 && output.dashboard_url == "" && length(aws_cloudwatch_dashboard.this) == 0
    error_message = "There must be a topic, and nothing watched yet."
  }

  assert {
    condition     = aws_sns_topic.alarms[0].tags == tomap({ Project = "notes" }) && aws_kms_key.alarms[0].tags == tomap({ Project = "notes" })
    error_message = "Topic and key must carry the tags."
  }

  assert {
    condition     = aws_sns_topic.alarms[0].kms_master_key_id == aws_kms_key.alarms[0].arn && aws_kms_key.alarms[0].enable_key_rotation
    error_message = "The topic must be encrypted with a key that rotates."
  }
}

run "only_alarms_of_this_account_may_publish" {
  assert {
    condition = jsondecode(aws_sns_topic_policy.alarms[0].policy).Statement[1] == {
      Sid       = "AllowAlarms"
      Effect    = "Allow"
      Principal = { Service = "cloudwatch.amazonaws.com" }
      Action    = "sns:Publish"
      Resource  = output.sns_topic_arn
      Condition = {
        ArnLike      = { "aws:SourceArn" = "arn:aws:cloudwatch:eu-central-1:123456789012:alarm:*" }
        StringEquals = { "aws:SourceAccount" = "123456789012" }
      }
    }
    error_message = "Only alarms of this account may publish."
  }

  assert {
    condition     = jsondecode(aws_sns_topic_policy.alarms[0].policy).Statement[0].Effect == "Deny" && jsondecode(aws_sns_topic_policy.alarms[0].policy).Statement[0].Condition == { Bool = { "aws:SecureTransport" = "false" } }
    error_message = "Plain HTTP must be refused."
  }

  assert {
    condition     = [for statement in jsondecode(aws_kms_key.alarms[0].policy).Statement : statement.Principal] == [{ AWS = "arn:aws:iam::123456789012:root" }, { Service = "cloudwatch.amazonaws.com" }]
    error_message = "The key must admit the account and CloudWatch."
  }
}

run "everything" {
  variables {
    lambda_function_names        = ["notes-dev-hello"]
    lambda_duration_threshold_ms = 20000
    api_gateway_name             = "notes-dev-api"
    api_latency_threshold_ms     = 1000
    sqs_dlq_names                = ["notes-dev-mail-dlq"]
    eventbridge_rule_names       = ["note-created"]
    event_bus_name               = "notes-dev-domain"
    distsql_cluster_identifier   = "abcdefghijklmnopqrstuvwxyz"
    enable_dashboard             = true
    alarm_email_endpoints        = ["operator@example.com"]

    custom_alarms = [
      { name = "heartbeat", namespace = "Notes", metric_name = "Done", comparison_operator = "LessThanThreshold", threshold = 1, treat_missing_data = "breaching" },
      { name = "slow", namespace = "Notes", metric_name = "Duration", threshold = 100, statistic = "p99.9" },
    ]
  }

  assert {
    condition = output.alarm_names == tolist([
      "note-created-failed-invocations",
      "notes-dev-api-5xx",
      "notes-dev-api-latency",
      "notes-dev-heartbeat",
      "notes-dev-hello-duration",
      "notes-dev-hello-errors",
      "notes-dev-hello-throttles",
      "notes-dev-mail-dlq-messages",
      "notes-dev-slow",
    ])
    error_message = "Each thing that is watched must have its alarms."
  }

  assert {
    condition     = alltrue([for name, alarm in aws_cloudwatch_metric_alarm.this : alarm.treat_missing_data == (name == "notes-dev-heartbeat" ? "breaching" : "notBreaching")])
    error_message = "Missing data must mean that all is well, except for a heartbeat."
  }

  assert {
    condition     = alltrue([for alarm in aws_cloudwatch_metric_alarm.this : alarm.alarm_actions == toset([output.sns_topic_arn]) && alarm.ok_actions == toset([output.sns_topic_arn]) && alarm.tags == tomap({ Project = "notes" })])
    error_message = "Each alarm must report to the topic, and carry the tags."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.this["notes-dev-hello-errors"].threshold == 5 && aws_cloudwatch_metric_alarm.this["notes-dev-api-5xx"].threshold == 1
    error_message = "The thresholds must be those of the interface."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.this["notes-dev-slow"].extended_statistic == "p99.9" && aws_cloudwatch_metric_alarm.this["notes-dev-slow"].statistic == null
    error_message = "A percentile is an extended statistic."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.this["note-created-failed-invocations"].dimensions == tomap({ RuleName = "note-created", EventBusName = "notes-dev-domain" })
    error_message = "Rules of a bus of one's own are counted under rule and bus."
  }

  assert {
    condition = [for widget in jsondecode(aws_cloudwatch_dashboard.this[0].dashboard_body).widgets : widget.properties.title] == [
      "Function latency (p95, ms)",
      "Function latency (p50, ms)",
      "Function errors",
      "Function throttles",
      "Function concurrency",
      "Function invocations",
      "API requests",
      "API errors",
      "API latency (p95, ms)",
      "Database conflicts and transactions",
      "Database commit latency (ms)",
      "Database query timeouts",
      "Query retries",
      "Messages in dead-letter queues",
      "Failed invocations of rules",
    ]
    error_message = "The dashboard must show everything that is watched."
  }

  assert {
    condition     = jsondecode(aws_cloudwatch_dashboard.this[0].dashboard_body).widgets[9].properties.metrics[0] == ["AWS/AuroraDSQL", "OccConflicts", "ClusterId", "abcdefghijklmnopqrstuvwxyz"]
    error_message = "The conflicts must be those of this cluster."
  }

  assert {
    condition     = output.dashboard_url == "https://eu-central-1.console.aws.amazon.com/cloudwatch/home?region=eu-central-1#dashboards:name=notes-dev"
    error_message = "The address must lead to the dashboard."
  }

  assert {
    condition     = aws_sns_topic_subscription.email["operator@example.com"].protocol == "email"
    error_message = "The operator must be written to."
  }
}

run "default_bus" {
  variables {
    eventbridge_rule_names = ["nightly"]
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.this["nightly-failed-invocations"].dimensions == tomap({ RuleName = "nightly" })
    error_message = "Rules of the default bus are counted under the rule alone."
  }
}

run "without_alarms" {
  variables {
    enable_alarms         = false
    lambda_function_names = ["notes-dev-hello"]
    alarm_email_endpoints = ["operator@example.com"]
  }

  assert {
    condition     = output.sns_topic_arn == "" && length(aws_cloudwatch_metric_alarm.this) == 0 && length(aws_sns_topic.alarms) == 0 && length(aws_kms_key.alarms) == 0 && length(aws_sns_topic_subscription.email) == 0
    error_message = "The switch must take alarms, topic and key away."
  }
}

run "own_key" {
  variables {
    create_kms_key = false
    kms_key_arn    = "arn:aws:kms:eu-central-1:123456789012:key/own"
  }

  assert {
    condition     = length(aws_kms_key.alarms) == 0 && aws_sns_topic.alarms[0].kms_master_key_id == "arn:aws:kms:eu-central-1:123456789012:key/own"
    error_message = "The key given must be used."
  }
}
