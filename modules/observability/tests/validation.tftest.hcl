# Every rule of variables.tf refuses a value that breaks it.

mock_provider "aws" {
  # OpenTofu makes the ARN up in a plan, too.
  mock_resource "aws_sns_topic" {
    defaults = {
      arn = "arn:aws:sns:eu-central-1:123456789012:mocked"
    }
  }
}

variables {
  name_prefix = "notes-dev"
  tags        = { Project = "notes" }
}

run "accepts_the_base" {
  command = plan
}

run "name_prefix_underscore" {
  command = plan

  variables {
    name_prefix = "notes_dev"
  }

  expect_failures = [var.name_prefix]
}

run "alarm_email_endpoints_no_address" {
  command = plan

  variables {
    alarm_email_endpoints = ["operator"]
  }

  expect_failures = [var.alarm_email_endpoints]
}

run "kms_key_arn_no_key" {
  command = plan

  variables {
    create_kms_key = false
  }

  expect_failures = [var.kms_key_arn]
}

run "lambda_function_names_twice" {
  command = plan

  variables {
    lambda_function_names = ["a", "a"]
  }

  expect_failures = [var.lambda_function_names]
}

run "lambda_error_threshold_zero" {
  command = plan

  variables {
    lambda_error_threshold = 0
  }

  expect_failures = [var.lambda_error_threshold]
}

run "lambda_throttle_threshold_zero" {
  command = plan

  variables {
    lambda_throttle_threshold = 0
  }

  expect_failures = [var.lambda_throttle_threshold]
}

run "lambda_duration_threshold_ms_zero" {
  command = plan

  variables {
    lambda_duration_threshold_ms = 0
  }

  expect_failures = [var.lambda_duration_threshold_ms]
}

run "api_5xx_threshold_zero" {
  command = plan

  variables {
    api_5xx_threshold = 0
  }

  expect_failures = [var.api_5xx_threshold]
}

run "api_latency_threshold_ms_zero" {
  command = plan

  variables {
    api_latency_threshold_ms = 0
  }

  expect_failures = [var.api_latency_threshold_ms]
}

run "sqs_dlq_names_twice" {
  command = plan

  variables {
    sqs_dlq_names = ["a", "a"]
  }

  expect_failures = [var.sqs_dlq_names]
}

run "eventbridge_rule_names_twice" {
  command = plan

  variables {
    eventbridge_rule_names = ["a", "a"]
  }

  expect_failures = [var.eventbridge_rule_names]
}

run "metrics_namespace_of_aws" {
  command = plan

  variables {
    metrics_namespace = "AWS/Lambda"
  }

  expect_failures = [var.metrics_namespace]
}

run "custom_alarms_twice" {
  command = plan

  variables {
    custom_alarms = [for n in [1, 2] : { name = "a", namespace = "N", metric_name = "m", threshold = n }]
  }

  expect_failures = [var.custom_alarms]
}

run "custom_alarms_unknown_statistic" {
  command = plan

  variables {
    custom_alarms = [{ name = "a", namespace = "N", metric_name = "m", threshold = 1, statistic = "Median" }]
  }

  expect_failures = [var.custom_alarms]
}

run "custom_alarms_unknown_comparison" {
  command = plan

  variables {
    custom_alarms = [{ name = "a", namespace = "N", metric_name = "m", threshold = 1, comparison_operator = ">" }]
  }

  expect_failures = [var.custom_alarms]
}

run "custom_alarms_unknown_treatment" {
  command = plan

  variables {
    custom_alarms = [{ name = "a", namespace = "N", metric_name = "m", threshold = 1, treat_missing_data = "ok" }]
  }

  expect_failures = [var.custom_alarms]
}

run "custom_alarms_odd_period" {
  command = plan

  variables {
    custom_alarms = [{ name = "a", namespace = "N", metric_name = "m", threshold = 1, period = 90 }]
  }

  expect_failures = [var.custom_alarms]
}
