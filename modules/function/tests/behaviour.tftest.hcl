# What is made, what it is called, and what the policies allow. The archive
# provider is the real one: the package is really made.

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

run "defaults" {
  assert {
    condition     = output.function_name == "notes-dev-hello" && output.role_name == "notes-dev-hello" && output.log_group_name == "/aws/lambda/notes-dev-hello"
    error_message = "Function, role and log group must be called by prefix and short name."
  }

  assert {
    condition     = output.function_arn == "arn:aws:lambda:eu-central-1:123456789012:function:notes-dev-hello" && output.invoke_arn == "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:notes-dev-hello/invocations"
    error_message = "The ARNs must be known from the names."
  }

  assert {
    condition     = output.response_streaming_invoke_arn == "arn:aws:apigateway:eu-central-1:lambda:path/2021-11-15/functions/arn:aws:lambda:eu-central-1:123456789012:function:notes-dev-hello/response-streaming-invocations"
    error_message = "The ARN for streamed responses must name the action InvokeWithResponseStream."
  }

  assert {
    condition     = alltrue([for tags in [aws_lambda_function.this.tags, aws_iam_role.this.tags, aws_cloudwatch_log_group.this.tags] : tags == tomap({ Project = "notes" })])
    error_message = "Everything must carry the tags."
  }

  assert {
    condition     = aws_lambda_function.this.runtime == "nodejs24.x" && aws_lambda_function.this.handler == "index.handler" && aws_lambda_function.this.architectures == tolist(["arm64"]) && aws_lambda_function.this.memory_size == 512 && aws_lambda_function.this.timeout == 30 && !aws_lambda_function.this.publish
    error_message = "The function must have the defaults of the interface."
  }

  assert {
    condition     = one(aws_lambda_function.this.environment).variables == tomap({ ENVIRONMENT = "dev" })
    error_message = "The function must find its stage in the environment."
  }

  assert {
    condition     = one(aws_lambda_function.this.logging_config).log_format == "JSON" && one(aws_lambda_function.this.logging_config).log_group == "/aws/lambda/notes-dev-hello" && one(aws_lambda_function.this.tracing_config).mode == "Active"
    error_message = "The function must log JSON to its own group, and be traced."
  }

  assert {
    condition     = length(aws_lambda_permission.api_gateway) == 0 && length(aws_lambda_event_source_mapping.queue) == 0 && length(aws_scheduler_schedule.this) == 0 && length(aws_lambda_permission.event_rule) == 0 && length(aws_iam_role.schedule) == 0
    error_message = "There must be no trigger by default."
  }
}

run "the_role_may_write_to_its_own_log_group_and_trace" {
  assert {
    condition = jsondecode(aws_iam_role_policy.runtime.policy).Statement == [
      { Sid = "WriteLogs", Effect = "Allow", Action = ["logs:CreateLogStream", "logs:PutLogEvents"], Resource = "arn:aws:logs:eu-central-1:123456789012:log-group:/aws/lambda/notes-dev-hello:*" },
      { Sid = "SendTraces", Effect = "Allow", Action = ["xray:PutTraceSegments", "xray:PutTelemetryRecords"], Resource = "*" },
    ]
    error_message = "The role must be able to write its log and send traces, and no more."
  }
}

run "without_tracing" {
  variables {
    xray_tracing_enabled = false
  }

  assert {
    condition     = [for statement in jsondecode(aws_iam_role_policy.runtime.policy).Statement : statement.Sid] == ["WriteLogs"] && one(aws_lambda_function.this.tracing_config).mode == "PassThrough"
    error_message = "The switch must take tracing and its permission away."
  }
}

run "logs_are_kept_by_stage" {
  command = plan

  assert {
    condition     = aws_cloudwatch_log_group.this.retention_in_days == 30
    error_message = "Logs must be kept for 30 days outside prod."
  }
}

run "logs_are_kept_for_a_year_in_prod" {
  command = plan

  variables {
    environment = "prod"
  }

  assert {
    condition     = aws_cloudwatch_log_group.this.retention_in_days == 365
    error_message = "Logs must be kept for a year in prod."
  }
}

run "logs_are_kept_as_long_as_told" {
  command = plan

  variables {
    log_retention_days = 7
  }

  assert {
    condition     = aws_cloudwatch_log_group.this.retention_in_days == 7
    error_message = "The retention that is given must win."
  }
}

run "package_hash" {
  assert {
    condition     = aws_lambda_function.this.source_code_hash == filebase64sha256(data.archive_file.package[0].output_path)
    error_message = "The hash must be that of the package."
  }
}

run "first_package_hash" {
  module {
    source = "./tests/two_runs"
  }

  variables {
    first = run.package_hash.source_code_hash
  }
}

run "package_hash_again" {}

run "package_hash_is_the_same_again" {
  module {
    source = "./tests/two_runs"
  }

  variables {
    first  = run.first_package_hash.first
    second = run.package_hash_again.source_code_hash
  }

  assert {
    condition     = var.first == var.second
    error_message = "The same content must give the same hash."
  }
}

run "api_gateway" {
  variables {
    api_gateway_enabled = true
  }

  assert {
    condition     = aws_lambda_permission.api_gateway[0].principal == "apigateway.amazonaws.com" && aws_lambda_permission.api_gateway[0].source_arn == "arn:aws:execute-api:eu-central-1:123456789012:*/*"
    error_message = "APIs of this account and region only may invoke the function."
  }
}

run "one_api" {
  variables {
    api_gateway_enabled       = true
    api_gateway_execution_arn = "arn:aws:execute-api:eu-central-1:123456789012:abc123"
  }

  assert {
    condition     = aws_lambda_permission.api_gateway[0].source_arn == "arn:aws:execute-api:eu-central-1:123456789012:abc123/*"
    error_message = "Only the API given may invoke the function."
  }
}

run "queue" {
  variables {
    sqs_trigger_arn         = "arn:aws:sqs:eu-central-1:123456789012:notes-dev-mail"
    sqs_maximum_concurrency = 5
  }

  assert {
    condition     = aws_lambda_event_source_mapping.queue[0].function_response_types == toset(["ReportBatchItemFailures"]) && aws_lambda_event_source_mapping.queue[0].event_source_arn == "arn:aws:sqs:eu-central-1:123456789012:notes-dev-mail" && one(aws_lambda_event_source_mapping.queue[0].scaling_config).maximum_concurrency == 5
    error_message = "The queue must be worked off, with failures message by message."
  }

  assert {
    condition     = jsondecode(aws_iam_role_policy.runtime.policy).Statement[2] == { Sid = "ReceiveMessages", Effect = "Allow", Action = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"], Resource = "arn:aws:sqs:eu-central-1:123456789012:notes-dev-mail" }
    error_message = "The role must be able to receive from this queue only."
  }
}

run "queue_can_be_switched_off" {
  command = plan

  variables {
    sqs_trigger_arn     = "arn:aws:sqs:eu-central-1:123456789012:notes-dev-mail"
    sqs_trigger_enabled = false
  }

  assert {
    condition     = length(aws_lambda_event_source_mapping.queue) == 0 && length(jsondecode(aws_iam_role_policy.runtime.policy).Statement) == 2
    error_message = "The switch must win over the ARN."
  }
}

run "schedule" {
  variables {
    schedule_expression = "cron(0 3 * * ? *)"
    schedule_timezone   = "Europe/Berlin"
  }

  assert {
    condition     = aws_scheduler_schedule.this[0].schedule_expression == "cron(0 3 * * ? *)" && aws_scheduler_schedule.this[0].schedule_expression_timezone == "Europe/Berlin" && aws_scheduler_schedule.this[0].name == "notes-dev-hello"
    error_message = "The schedule must be as told."
  }

  assert {
    condition     = jsondecode(aws_iam_role_policy.schedule[0].policy).Statement == [{ Sid = "Invoke", Effect = "Allow", Action = "lambda:InvokeFunction", Resource = output.function_arn }]
    error_message = "The schedule must be able to invoke this function only."
  }

  assert {
    condition     = jsondecode(aws_iam_role.schedule[0].assume_role_policy).Statement[0].Condition == { StringEquals = { "aws:SourceAccount" = "123456789012" } }
    error_message = "Only schedules of this account may take on the role."
  }

  assert {
    condition     = strcontains(one(aws_scheduler_schedule.this[0].target).input, "\"time\":\"<aws.scheduler.scheduled-time>\"") && jsondecode(one(aws_scheduler_schedule.this[0].target).input).detail-type == "Scheduled Event"
    error_message = "The event must have the form of a rule's, with words that Scheduler fills in."
  }
}

run "schedule_of_a_long_name" {
  variables {
    function_name       = "a-function-with-a-name-as-long-as-it-can-be-one-two"
    schedule_expression = "rate(1 hour)"
  }

  assert {
    condition     = aws_iam_role.schedule[0].name == "notes-dev-a-function-with-a-name-as-long-as-it-${substr(sha1(output.function_name), 0, 8)}-schedule" && length(aws_iam_role.schedule[0].name) == 64
    error_message = "Long names with one beginning must have roles of their own."
  }
}

run "event_rules" {
  variables {
    eventbridge_rule_arns = ["arn:aws:events:eu-central-1:123456789012:rule/notes-dev-domain/a", "arn:aws:events:eu-central-1:123456789012:rule/notes-dev-domain/b"]
  }

  assert {
    condition     = aws_lambda_permission.event_rule[*].source_arn == ["arn:aws:events:eu-central-1:123456789012:rule/notes-dev-domain/a", "arn:aws:events:eu-central-1:123456789012:rule/notes-dev-domain/b"]
    error_message = "Each rule, and only these, may invoke the function."
  }
}

run "asynchronous" {
  variables {
    maximum_retry_attempts    = 0
    maximum_event_age_seconds = 600
    dead_letter_target_arn    = "arn:aws:sqs:eu-central-1:123456789012:dead"
  }

  assert {
    condition     = aws_lambda_function_event_invoke_config.this[0].maximum_retry_attempts == 0 && aws_lambda_function_event_invoke_config.this[0].maximum_event_age_in_seconds == 600
    error_message = "The settings must reach the function."
  }

  assert {
    condition     = one(aws_lambda_function.this.dead_letter_config).target_arn == "arn:aws:sqs:eu-central-1:123456789012:dead" && jsondecode(aws_iam_role_policy.runtime.policy).Statement[2] == { Sid = "SendDeadLetters", Effect = "Allow", Action = "sqs:SendMessage", Resource = "arn:aws:sqs:eu-central-1:123456789012:dead" }
    error_message = "The role must be able to send dead letters to this queue only."
  }
}

run "dead_letters_to_a_topic" {
  variables {
    dead_letter_target_arn = "arn:aws:sns:eu-central-1:123456789012:dead"
  }

  assert {
    condition     = jsondecode(aws_iam_role_policy.runtime.policy).Statement[2].Action == "sns:Publish"
    error_message = "A topic is published to."
  }
}

run "policies" {
  variables {
    additional_policy_arns = ["arn:aws:iam::123456789012:policy/connect"]
    inline_policies        = { send = "{\"Version\":\"2012-10-17\",\"Statement\":[]}" }
  }

  assert {
    condition     = aws_iam_role_policy_attachment.additional[0].policy_arn == "arn:aws:iam::123456789012:policy/connect" && aws_iam_role_policy.inline["send"].name == "send"
    error_message = "The role must get the policies given."
  }
}

run "filtered_queue" {
  variables {
    sqs_trigger_arn     = "arn:aws:sqs:eu-central-1:123456789012:mail"
    sqs_filter_patterns = [jsonencode({ body = { kind = ["order"] } })]
  }

  assert {
    condition     = one(one(aws_lambda_event_source_mapping.queue[0].filter_criteria).filter).pattern == jsonencode({ body = { kind = ["order"] } })
    error_message = "The mapping must have the pattern."
  }
}

run "kinesis_stream" {
  variables {
    stream_trigger = {
      arn                     = "arn:aws:kinesis:eu-central-1:123456789012:stream/orders/consumer/fast:1"
      service                 = "kinesis"
      filter_patterns         = [jsonencode({ data = { kind = ["order"] } })]
      failure_destination_arn = "arn:aws:sqs:eu-central-1:123456789012:failed"
    }
  }

  assert {
    condition     = aws_lambda_event_source_mapping.stream[0].function_response_types == toset(["ReportBatchItemFailures"]) && aws_lambda_event_source_mapping.stream[0].maximum_retry_attempts == 10 && aws_lambda_event_source_mapping.stream[0].bisect_batch_on_function_error && aws_lambda_event_source_mapping.stream[0].starting_position == "TRIM_HORIZON"
    error_message = "The mapping must read the report of failures, and give up after ten retries."
  }

  assert {
    condition     = one(one(aws_lambda_event_source_mapping.stream[0].destination_config).on_failure).destination_arn == "arn:aws:sqs:eu-central-1:123456789012:failed" && one(one(aws_lambda_event_source_mapping.stream[0].filter_criteria).filter).pattern == jsonencode({ data = { kind = ["order"] } })
    error_message = "The mapping must have the destination and the pattern."
  }

  assert {
    condition     = one([for statement in jsondecode(aws_iam_role_policy.runtime.policy).Statement : statement.Resource if statement.Sid == "ReadStream"]) == ["arn:aws:kinesis:eu-central-1:123456789012:stream/orders/consumer/fast:1", "arn:aws:kinesis:eu-central-1:123456789012:stream/orders"] && one([for statement in jsondecode(aws_iam_role_policy.runtime.policy).Statement : statement.Resource if statement.Sid == "SendDeadLetters"]) == "arn:aws:sqs:eu-central-1:123456789012:failed"
    error_message = "The role must read this stream and write to this destination, and no other."
  }
}

run "two_failure_destinations" {
  variables {
    dead_letter_target_arn = "arn:aws:sns:eu-central-1:123456789012:failed"

    stream_trigger = {
      arn                     = "arn:aws:kinesis:eu-central-1:123456789012:stream/orders"
      service                 = "kinesis"
      failure_destination_arn = "arn:aws:sqs:eu-central-1:123456789012:failed"
    }
  }

  assert {
    condition     = length(distinct(jsondecode(aws_iam_role_policy.runtime.policy).Statement[*].Sid)) == length(jsondecode(aws_iam_role_policy.runtime.policy).Statement)
    error_message = "IAM refuses statements with the same Sid."
  }
}

run "dynamodb_stream" {
  variables {
    stream_trigger = {
      arn     = "arn:aws:dynamodb:eu-central-1:123456789012:table/orders/stream/2026-01-01T00:00:00.000"
      service = "dynamodb"
    }
  }

  assert {
    condition     = one([for statement in jsondecode(aws_iam_role_policy.runtime.policy).Statement : statement.Action if statement.Sid == "ReadStream"]) == ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"] && length(aws_lambda_event_source_mapping.stream[0].destination_config) == 0
    error_message = "The role must read the table's stream."
  }
}

run "kafka_topic" {
  variables {
    kafka_trigger = {
      cluster_arn         = "arn:aws:kafka:eu-central-1:123456789012:cluster/main/1a2b"
      topic               = "orders"
      consumer_group_id   = "notes-dev-hello"
      provisioned_pollers = { minimum = 1, maximum = 2 }
      partial_failures    = true
    }
  }

  assert {
    condition     = aws_lambda_event_source_mapping.kafka[0].topics == toset(["orders"]) && aws_lambda_event_source_mapping.kafka[0].function_response_types == toset(["ReportBatchItemFailures"]) && one(aws_lambda_event_source_mapping.kafka[0].provisioned_poller_config).maximum_pollers == 2 && one(aws_lambda_event_source_mapping.kafka[0].amazon_managed_kafka_event_source_config).consumer_group_id == "notes-dev-hello"
    error_message = "The mapping must be in provisioned mode, with the report of failures."
  }

  assert {
    condition     = one([for statement in jsondecode(aws_iam_role_policy.runtime.policy).Statement : statement.Resource if statement.Sid == "ReadTopic"]) == ["arn:aws:kafka:eu-central-1:123456789012:cluster/main/1a2b", "arn:aws:kafka:eu-central-1:123456789012:topic/main/1a2b/orders", "arn:aws:kafka:eu-central-1:123456789012:group/main/1a2b/notes-dev-hello"]
    error_message = "The role must read this topic as this group, and no other."
  }
}

run "self_managed_kafka" {
  variables {
    kafka_trigger = {
      bootstrap_servers = ["a.example.com:9092", "b.example.com:9092"]
      topic             = "orders"
      consumer_group_id = "hello"
      source_access     = [{ type = "SASL_SCRAM_512_AUTH", uri = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:kafka-1" }]
    }
  }

  assert {
    condition     = one(aws_lambda_event_source_mapping.kafka[0].self_managed_event_source).endpoints.KAFKA_BOOTSTRAP_SERVERS == "a.example.com:9092,b.example.com:9092" && length(aws_lambda_event_source_mapping.kafka[0].provisioned_poller_config) == 0 && aws_lambda_event_source_mapping.kafka[0].function_response_types == null
    error_message = "The mapping must know the brokers; only provisioned mode reads a report."
  }

  assert {
    condition     = one([for statement in jsondecode(aws_iam_role_policy.runtime.policy).Statement : statement.Resource if statement.Sid == "ReadSecret0"]) == ["arn:aws:secretsmanager:eu-central-1:123456789012:secret:kafka-1"]
    error_message = "The role must read the secret of the brokers."
  }
}

run "inside_a_vpc" {
  variables {
    vpc_config = { subnet_ids = ["subnet-1"], security_group_ids = ["sg-1"] }
  }

  assert {
    condition     = one(aws_lambda_function.this.vpc_config).subnet_ids == toset(["subnet-1"])
    error_message = "The function must be in the subnet."
  }

  assert {
    condition     = alltrue([for action in jsondecode(aws_iam_role_policy.runtime.policy).Statement[2].Action : startswith(action, "ec2:") && !strcontains(action, "*")])
    error_message = "The role must be able to attach interfaces, action by action."
  }
}

run "image" {
  variables {
    package_type  = "Image"
    image_uri     = "123456789012.dkr.ecr.eu-central-1.amazonaws.com/f:1"
    image_command = ["index.handler"]
    source_dir    = ""
  }

  assert {
    condition     = length(data.archive_file.package) == 0 && aws_lambda_function.this.handler == null && aws_lambda_function.this.runtime == null && aws_lambda_function.this.image_uri == "123456789012.dkr.ecr.eu-central-1.amazonaws.com/f:1" && one(aws_lambda_function.this.image_config).command == tolist(["index.handler"])
    error_message = "An image has neither package nor handler nor runtime."
  }
}

run "edge" {
  variables {
    is_edge_function = true
    region           = "us-east-1"
    architecture     = "arm64"
  }

  assert {
    condition     = aws_lambda_function.this.architectures == tolist(["x86_64"]) && aws_lambda_function.this.publish
    error_message = "An edge function must be x86_64 and published."
  }

  assert {
    condition     = length(aws_lambda_function.this.environment) == 0 && length(aws_lambda_function.this.logging_config) == 0 && one(aws_lambda_function.this.tracing_config).mode == "PassThrough" && length(aws_lambda_function_event_invoke_config.this) == 0
    error_message = "An edge function must have nothing that CloudFront refuses."
  }

  assert {
    condition     = jsondecode(aws_iam_role_policy.runtime.policy).Statement == [{ Sid = "WriteLogs", Effect = "Allow", Action = ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"], Resource = "arn:aws:logs:*:123456789012:log-group:/aws/lambda/us-east-1.notes-dev-hello:*" }]
    error_message = "An edge function logs in every region, under its own name only."
  }
}

run "an_alias_is_what_triggers_invoke" {
  variables {
    alias_name                = "live"
    provisioned_concurrency   = 2
    api_gateway_enabled       = true
    api_gateway_execution_arn = "arn:aws:execute-api:eu-central-1:123456789012:api"
    sqs_trigger_arn           = "arn:aws:sqs:eu-central-1:123456789012:jobs"
    schedule_expression       = "rate(5 minutes)"
  }

  assert {
    condition     = aws_lambda_function.this.publish && aws_lambda_alias.this[0].name == "live" && output.target_arn == "${output.function_arn}:live" && strcontains(output.invoke_arn, "function:notes-dev-hello:live/invocations")
    error_message = "Versions must be published, and the API must invoke the alias."
  }

  assert {
    condition     = aws_lambda_permission.api_gateway[0].qualifier == "live" && aws_lambda_event_source_mapping.queue[0].function_name == output.target_arn && one(aws_scheduler_schedule.this[0].target).arn == output.target_arn && aws_lambda_function_event_invoke_config.this[0].qualifier == "live"
    error_message = "All triggers must invoke the alias."
  }

  assert {
    condition     = aws_lambda_provisioned_concurrency_config.this[0].qualifier == "live" && aws_lambda_provisioned_concurrency_config.this[0].provisioned_concurrent_executions == 2
    error_message = "The alias must have its sandboxes."
  }
}

run "a_function_without_files_is_refused" {
  command = plan

  variables {
    source_dir = "./no-such-folder"
  }

  expect_failures = [aws_lambda_function.this]
}

run "results_go_to_destinations" {
  variables {
    on_success_destination_arn = "arn:aws:events:eu-central-1:123456789012:event-bus/results"
    on_failure_destination_arn = "arn:aws:sqs:eu-central-1:123456789012:failed"
  }

  assert {
    condition     = aws_lambda_function_event_invoke_config.this[0].destination_config[0].on_success[0].destination == "arn:aws:events:eu-central-1:123456789012:event-bus/results" && aws_lambda_function_event_invoke_config.this[0].destination_config[0].on_failure[0].destination == "arn:aws:sqs:eu-central-1:123456789012:failed"
    error_message = "Both destinations must be set."
  }

  assert {
    condition     = { for statement in jsondecode(aws_iam_role_policy.runtime.policy).Statement : statement.Sid => "${statement.Action} ${statement.Resource}" if startswith(statement.Sid, "Send") && !can(statement.Action[0]) } == { SendSuccess = "events:PutEvents arn:aws:events:eu-central-1:123456789012:event-bus/results", SendFailure = "sqs:SendMessage arn:aws:sqs:eu-central-1:123456789012:failed" }
    error_message = "The role must be allowed to send to its destinations only."
  }
}

run "a_package_through_a_bucket" {
  variables {
    package_bucket = "acme-packages"
  }

  assert {
    condition     = aws_lambda_function.this.s3_bucket == "acme-packages" && aws_lambda_function.this.s3_key == "${aws_lambda_function.this.function_name}/${data.archive_file.package[0].output_sha256}.zip" && aws_lambda_function.this.filename == null
    error_message = "The package must be uploaded under its hash, and read from there."
  }
}

run "a_streamed_response_comes_from_the_alias" {
  variables {
    alias_name = "live"
  }

  assert {
    condition     = endswith(output.response_streaming_invoke_arn, ":live/response-streaming-invocations")
    error_message = "Streamed responses must come from the version that the alias names."
  }
}
