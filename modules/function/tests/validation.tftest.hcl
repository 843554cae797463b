# Every rule of variables.tf refuses a value that breaks it.

mock_provider "aws" {
  # Values that the rest of the module hands on, where a made-up word would not do.

  mock_resource "aws_iam_role" {
    defaults = {
      arn = "arn:aws:iam::123456789012:role/mocked"
    }
  }

  mock_resource "aws_lambda_function" {
    defaults = {
      arn           = "arn:aws:lambda:eu-central-1:123456789012:function:mocked"
      qualified_arn = "arn:aws:lambda:eu-central-1:123456789012:function:mocked:1"
    }
  }

  mock_resource "aws_cloudwatch_log_group" {
    defaults = {
      arn = "arn:aws:logs:eu-central-1:123456789012:log-group:mocked"
    }
  }

  mock_data "aws_partition" {
    defaults = {
      partition  = "aws"
      dns_suffix = "amazonaws.com"
    }
  }
}

variables {
  function_name      = "hello"
  name_prefix        = "notes-dev"
  source_dir         = "./examples/basic/src"
  assume_role_policy = "{\"Version\":\"2012-10-17\",\"Statement\":[]}"
  region             = "eu-central-1"
  account_id         = "123456789012"
  environment        = "dev"
  tags               = { Project = "notes" }
}

run "accepts_the_base" {
  command = plan
}

run "function_name_space" {
  command = plan

  variables {
    function_name = "say hello"
  }

  expect_failures = [var.function_name]
}

run "function_name_too_long" {
  command = plan

  variables {
    function_name = "a-name-that-is-much-too-long-for-lambda-which-takes-64-characters"
  }

  expect_failures = [var.function_name]
}

run "name_prefix_underscore" {
  command = plan

  variables {
    name_prefix = "notes_dev"
  }

  expect_failures = [var.name_prefix]
}

run "source_dir_empty" {
  command = plan

  variables {
    source_dir = ""
  }

  expect_failures = [var.source_dir]
}

run "assume_role_policy_no_policy" {
  command = plan

  variables {
    assume_role_policy = "lambda.amazonaws.com"
  }

  expect_failures = [var.assume_role_policy]
}

run "region_no_region" {
  command = plan

  variables {
    region = "Frankfurt"
  }

  expect_failures = [var.region]
}

run "region_edge_elsewhere" {
  command = plan

  variables {
    is_edge_function = true
  }

  expect_failures = [var.region]
}

run "account_id_too_short" {
  command = plan

  variables {
    account_id = "1234"
  }

  expect_failures = [var.account_id]
}

run "environment_unknown_stage" {
  command = plan

  variables {
    environment = "Test"
  }

  expect_failures = [var.environment]
}

run "description_too_long" {
  command = plan

  variables {
    description = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
  }

  expect_failures = [var.description]
}

run "runtime_no_runtime" {
  command = plan

  variables {
    runtime = "deno2"
  }

  expect_failures = [var.runtime]
}

run "architecture_unknown" {
  command = plan

  variables {
    architecture = "arm"
  }

  expect_failures = [var.architecture]
}

run "memory_size_too_small" {
  command = plan

  variables {
    memory_size = 64
  }

  expect_failures = [var.memory_size]
}

run "timeout_too_long" {
  command = plan

  variables {
    timeout = 901
  }

  expect_failures = [var.timeout]
}

run "timeout_edge_too_long" {
  command = plan

  variables {
    is_edge_function = true
    region           = "us-east-1"
    timeout          = 31
  }

  expect_failures = [var.timeout]
}

run "ephemeral_storage_too_small" {
  command = plan

  variables {
    ephemeral_storage = 256
  }

  expect_failures = [var.ephemeral_storage]
}

run "ephemeral_storage_edge_has_more" {
  command = plan

  variables {
    is_edge_function  = true
    region            = "us-east-1"
    ephemeral_storage = 1024
  }

  expect_failures = [var.ephemeral_storage]
}

run "environment_variables_hyphen" {
  command = plan

  variables {
    environment_variables = { "LOG-LEVEL" = "INFO" }
  }

  expect_failures = [var.environment_variables]
}

run "environment_variables_reserved" {
  command = plan

  variables {
    environment_variables = { AWS_LAMBDA_FUNCTION_NAME = "mine" }
  }

  expect_failures = [var.environment_variables]
}

run "environment_variables_edge_has_some" {
  command = plan

  variables {
    is_edge_function      = true
    region                = "us-east-1"
    environment_variables = { LOG_LEVEL = "INFO" }
  }

  expect_failures = [var.environment_variables]
}

run "kms_key_arn_key_id" {
  command = plan

  variables {
    kms_key_arn = "11111111-2222"
  }

  expect_failures = [var.kms_key_arn]
}

run "layers_too_many" {
  command = plan

  variables {
    layers = [for n in range(6) : "arn:aws:lambda:eu-central-1:123456789012:layer:one:${n}"]
  }

  expect_failures = [var.layers]
}

run "layers_without_version" {
  command = plan

  variables {
    layers = ["arn:aws:lambda:eu-central-1:123456789012:layer:one"]
  }

  expect_failures = [var.layers]
}

run "layers_edge_has_one" {
  command = plan

  variables {
    is_edge_function = true
    region           = "us-east-1"
    layers           = ["arn:aws:lambda:us-east-1:123456789012:layer:one:1"]
  }

  expect_failures = [var.layers]
}

run "additional_policy_arns_too_many" {
  command = plan

  variables {
    additional_policy_arns = [for n in range(11) : "arn:aws:iam::123456789012:policy/${n}"]
  }

  expect_failures = [var.additional_policy_arns]
}

run "inline_policies_no_policy" {
  command = plan

  variables {
    inline_policies = { read = "s3:GetObject" }
  }

  expect_failures = [var.inline_policies]
}

run "inline_policies_taken_name" {
  command = plan

  variables {
    inline_policies = { runtime = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }

  expect_failures = [var.inline_policies]
}

run "api_gateway_enabled_edge" {
  command = plan

  variables {
    is_edge_function    = true
    region              = "us-east-1"
    api_gateway_enabled = true
  }

  expect_failures = [var.api_gateway_enabled]
}

run "api_gateway_execution_arn_api_id" {
  command = plan

  variables {
    api_gateway_execution_arn = "abc123"
  }

  expect_failures = [var.api_gateway_execution_arn]
}

run "sqs_trigger_arn_queue_url" {
  command = plan

  variables {
    sqs_trigger_arn = "https://sqs.eu-central-1.amazonaws.com/123456789012/mail"
  }

  expect_failures = [var.sqs_trigger_arn]
}

run "sqs_trigger_arn_edge" {
  command = plan

  variables {
    is_edge_function = true
    region           = "us-east-1"
    sqs_trigger_arn  = "arn:aws:sqs:us-east-1:123456789012:mail"
  }

  expect_failures = [var.sqs_trigger_arn]
}

run "sqs_batch_size_zero" {
  command = plan

  variables {
    sqs_batch_size = 0
  }

  expect_failures = [var.sqs_batch_size]
}

run "sqs_batch_size_without_window" {
  command = plan

  variables {
    sqs_batch_size = 100
  }

  expect_failures = [var.sqs_batch_size]
}

run "sqs_batching_window_seconds_too_long" {
  command = plan

  variables {
    sqs_batching_window_seconds = 301
  }

  expect_failures = [var.sqs_batching_window_seconds]
}

run "sqs_maximum_concurrency_one" {
  command = plan

  variables {
    sqs_maximum_concurrency = 1
  }

  expect_failures = [var.sqs_maximum_concurrency]
}

run "schedule_expression_crontab" {
  command = plan

  variables {
    schedule_expression = "*/5 * * * *"
  }

  expect_failures = [var.schedule_expression]
}

run "schedule_expression_edge" {
  command = plan

  variables {
    is_edge_function    = true
    region              = "us-east-1"
    schedule_expression = "rate(5 minutes)"
  }

  expect_failures = [var.schedule_expression]
}

run "eventbridge_rule_arns_rule_name" {
  command = plan

  variables {
    eventbridge_rule_arns = ["note-created"]
  }

  expect_failures = [var.eventbridge_rule_arns]
}

run "eventbridge_rule_arns_edge" {
  command = plan

  variables {
    is_edge_function      = true
    region                = "us-east-1"
    eventbridge_rule_arns = ["arn:aws:events:us-east-1:123456789012:rule/notes-dev-domain/note-created"]
  }

  expect_failures = [var.eventbridge_rule_arns]
}

run "maximum_retry_attempts_three" {
  command = plan

  variables {
    maximum_retry_attempts = 3
  }

  expect_failures = [var.maximum_retry_attempts]
}

run "maximum_event_age_seconds_too_short" {
  command = plan

  variables {
    maximum_event_age_seconds = 10
  }

  expect_failures = [var.maximum_event_age_seconds]
}

run "dead_letter_target_arn_function" {
  command = plan

  variables {
    dead_letter_target_arn = "arn:aws:lambda:eu-central-1:123456789012:function:f"
  }

  expect_failures = [var.dead_letter_target_arn]
}

run "dead_letter_target_arn_edge" {
  command = plan

  variables {
    is_edge_function       = true
    region                 = "us-east-1"
    dead_letter_target_arn = "arn:aws:sqs:us-east-1:123456789012:dead"
  }

  expect_failures = [var.dead_letter_target_arn]
}

run "is_edge_function_image" {
  command = plan

  variables {
    is_edge_function = true
    region           = "us-east-1"
    package_type     = "Image"
    image_uri        = "123456789012.dkr.ecr.us-east-1.amazonaws.com/f:1"
  }

  expect_failures = [var.is_edge_function]
}

run "package_type_unknown" {
  command = plan

  variables {
    package_type = "Tar"
  }

  expect_failures = [var.package_type]
}

run "image_uri_image_without_uri" {
  command = plan

  variables {
    package_type = "Image"
  }

  expect_failures = [var.image_uri]
}

run "image_uri_uri_without_image" {
  command = plan

  variables {
    image_uri = "123456789012.dkr.ecr.eu-central-1.amazonaws.com/f:1"
  }

  expect_failures = [var.image_uri]
}

run "reserved_concurrent_executions_too_small" {
  command = plan

  variables {
    reserved_concurrent_executions = -2
  }

  expect_failures = [var.reserved_concurrent_executions]
}

run "log_retention_days_no_such_period" {
  command = plan

  variables {
    log_retention_days = 31
  }

  expect_failures = [var.log_retention_days]
}

run "log_level_lower_case" {
  command = plan

  variables {
    log_level = "info"
  }

  expect_failures = [var.log_level]
}

run "log_kms_key_arn_key_id" {
  command = plan

  variables {
    log_kms_key_arn = "11111111-2222"
  }

  expect_failures = [var.log_kms_key_arn]
}

run "vpc_config_no_subnet" {
  command = plan

  variables {
    vpc_config = { subnet_ids = [], security_group_ids = ["sg-1"] }
  }

  expect_failures = [var.vpc_config]
}

run "sqs_filter_patterns_no_object" {
  command = plan

  variables {
    sqs_filter_patterns = ["[1]"]
  }

  expect_failures = [var.sqs_filter_patterns]
}

run "stream_trigger_other_service" {
  command = plan

  variables {
    stream_trigger = { arn = "arn:aws:kinesis:eu-central-1:123456789012:stream/orders", service = "sqs" }
  }

  expect_failures = [var.stream_trigger]
}

run "stream_trigger_other_arn" {
  command = plan

  variables {
    stream_trigger = { arn = "arn:aws:kinesis:eu-central-1:123456789012:stream/orders", service = "dynamodb" }
  }

  expect_failures = [var.stream_trigger]
}

run "stream_trigger_position" {
  command = plan

  variables {
    stream_trigger = { arn = "arn:aws:kinesis:eu-central-1:123456789012:stream/orders", service = "kinesis", starting_position = "OLDEST" }
  }

  expect_failures = [var.stream_trigger]
}

run "stream_trigger_batch_size" {
  command = plan

  variables {
    stream_trigger = { arn = "arn:aws:kinesis:eu-central-1:123456789012:stream/orders", service = "kinesis", batch_size = 10001 }
  }

  expect_failures = [var.stream_trigger]
}

run "stream_trigger_retries" {
  command = plan

  variables {
    stream_trigger = { arn = "arn:aws:kinesis:eu-central-1:123456789012:stream/orders", service = "kinesis", maximum_retry_attempts = -2 }
  }

  expect_failures = [var.stream_trigger]
}

run "stream_trigger_age" {
  command = plan

  variables {
    stream_trigger = { arn = "arn:aws:kinesis:eu-central-1:123456789012:stream/orders", service = "kinesis", maximum_record_age_seconds = 10 }
  }

  expect_failures = [var.stream_trigger]
}

run "stream_trigger_factor" {
  command = plan

  variables {
    stream_trigger = { arn = "arn:aws:kinesis:eu-central-1:123456789012:stream/orders", service = "kinesis", parallelization_factor = 11 }
  }

  expect_failures = [var.stream_trigger]
}

run "stream_trigger_pattern" {
  command = plan

  variables {
    stream_trigger = { arn = "arn:aws:kinesis:eu-central-1:123456789012:stream/orders", service = "kinesis", filter_patterns = ["x"] }
  }

  expect_failures = [var.stream_trigger]
}

run "kafka_trigger_no_brokers" {
  command = plan

  variables {
    kafka_trigger = { topic = "t", consumer_group_id = "g" }
  }

  expect_failures = [var.kafka_trigger]
}

run "kafka_trigger_both" {
  command = plan

  variables {
    kafka_trigger = { cluster_arn = "arn:aws:kafka:eu-central-1:123456789012:cluster/main/1a2b", topic = "t", consumer_group_id = "g", bootstrap_servers = ["b:9092"] }
  }

  expect_failures = [var.kafka_trigger]
}

run "kafka_trigger_arn" {
  command = plan

  variables {
    kafka_trigger = { cluster_arn = "main", topic = "t", consumer_group_id = "g" }
  }

  expect_failures = [var.kafka_trigger]
}

run "kafka_trigger_partial_failures" {
  command = plan

  variables {
    kafka_trigger = { cluster_arn = "arn:aws:kafka:eu-central-1:123456789012:cluster/main/1a2b", topic = "t", consumer_group_id = "g", partial_failures = true }
  }

  expect_failures = [var.kafka_trigger]
}

run "kafka_trigger_position" {
  command = plan

  variables {
    kafka_trigger = { cluster_arn = "arn:aws:kafka:eu-central-1:123456789012:cluster/main/1a2b", topic = "t", consumer_group_id = "g", starting_position = "FIRST" }
  }

  expect_failures = [var.kafka_trigger]
}

run "kafka_trigger_batch_size" {
  command = plan

  variables {
    kafka_trigger = { cluster_arn = "arn:aws:kafka:eu-central-1:123456789012:cluster/main/1a2b", topic = "t", consumer_group_id = "g", batch_size = 0 }
  }

  expect_failures = [var.kafka_trigger]
}

run "kafka_trigger_pattern" {
  command = plan

  variables {
    kafka_trigger = { cluster_arn = "arn:aws:kafka:eu-central-1:123456789012:cluster/main/1a2b", topic = "t", consumer_group_id = "g", filter_patterns = ["x"] }
  }

  expect_failures = [var.kafka_trigger]
}

run "alias_name_with_a_dot" {
  command = plan

  variables {
    alias_name = "live.1"
  }

  expect_failures = [var.alias_name]
}

run "alias_name_of_an_edge_function" {
  command = plan

  variables {
    alias_name       = "live"
    is_edge_function = true
    region           = "us-east-1"
  }

  expect_failures = [var.alias_name]
}

run "provisioned_concurrency_below_zero" {
  command = plan

  variables {
    alias_name              = "live"
    provisioned_concurrency = -1
  }

  expect_failures = [var.provisioned_concurrency]
}

run "provisioned_concurrency_without_an_alias" {
  command = plan

  variables {
    provisioned_concurrency = 1
  }

  expect_failures = [var.provisioned_concurrency]
}

run "on_success_destination_arn_bucket" {
  command = plan

  variables {
    on_success_destination_arn = "arn:aws:s3:::results"
  }

  expect_failures = [var.on_success_destination_arn]
}

run "on_success_destination_arn_edge" {
  command = plan

  variables {
    on_success_destination_arn = "arn:aws:sqs:us-east-1:123456789012:results"
    is_edge_function           = true
    region                     = "us-east-1"
  }

  expect_failures = [var.on_success_destination_arn]
}

run "on_failure_destination_arn_bucket" {
  command = plan

  variables {
    on_failure_destination_arn = "arn:aws:s3:::results"
  }

  expect_failures = [var.on_failure_destination_arn]
}

run "on_failure_destination_arn_edge" {
  command = plan

  variables {
    on_failure_destination_arn = "arn:aws:sqs:us-east-1:123456789012:results"
    is_edge_function           = true
    region                     = "us-east-1"
  }

  expect_failures = [var.on_failure_destination_arn]
}

run "stream_trigger_edge" {
  command = plan

  variables {
    stream_trigger   = { arn = "arn:aws:kinesis:us-east-1:123456789012:stream/orders", service = "kinesis" }
    is_edge_function = true
    region           = "us-east-1"
  }

  expect_failures = [var.stream_trigger]
}

run "kafka_trigger_edge" {
  command = plan

  variables {
    kafka_trigger    = { cluster_arn = "arn:aws:kafka:us-east-1:123456789012:cluster/main/1a2b", topic = "t", consumer_group_id = "g" }
    is_edge_function = true
    region           = "us-east-1"
  }

  expect_failures = [var.kafka_trigger]
}

run "package_bucket_url" {
  command = plan

  variables {
    package_bucket = "s3://packages"
  }

  expect_failures = [var.package_bucket]
}

run "package_bucket_image" {
  command = plan

  variables {
    package_bucket = "acme-packages"
    package_type   = "Image"
    image_uri      = "123456789012.dkr.ecr.eu-central-1.amazonaws.com/notes:1"
    source_dir     = ""
  }

  expect_failures = [var.package_bucket]
}
