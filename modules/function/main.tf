data "aws_partition" "current" {}

locals {
  name         = "${var.name_prefix}-${var.function_name}"
  partition    = data.aws_partition.current.partition
  is_zip       = var.package_type == "Zip"
  architecture = var.is_edge_function ? "x86_64" : var.architecture
  has_queue    = var.sqs_trigger_enabled == null ? var.sqs_trigger_arn != null : var.sqs_trigger_enabled
  has_tracing  = var.xray_tracing_enabled && !var.is_edge_function
  retention    = var.log_retention_days == null ? (var.environment == "prod" ? 365 : 30) : var.log_retention_days

  # Put together from what is known at plan, so that a module which takes the ARN
  # can decide by it; the reference to the name keeps the order of creation.
  function_arn = "arn:${local.partition}:lambda:${var.region}:${var.account_id}:function:${aws_lambda_function.this.function_name}"
  invoke_arn   = "arn:${local.partition}:apigateway:${var.region}:lambda:path/2015-03-31/functions/${local.target_arn}/invocations"

  # What triggers invoke: the alias, where there is one.
  target_arn = var.alias_name == null ? local.function_arn : "${local.function_arn}:${aws_lambda_alias.this[0].name}"
  qualifier  = var.alias_name == null ? null : aws_lambda_alias.this[0].name

  # Destroying a stage needs no package; anything else does (see the precondition).
  package_path = "${path.root}/.terraform/packages/${local.name}.zip"
  has_package  = local.is_zip && length(fileset(var.source_dir, "**")) > 0

  # Another version of Lambda's API and another action (API Gateway developer guide, "Set up a
  # Lambda proxy integration with payload response streaming").
  response_streaming_invoke_arn = "arn:${local.partition}:apigateway:${var.region}:lambda:path/2021-11-15/functions/${local.target_arn}/response-streaming-invocations"

  log_group_arn = "arn:${local.partition}:logs:${var.region}:${var.account_id}:log-group:${aws_cloudwatch_log_group.this.name}"

  # Lambda@Edge logs in the region nearest to the viewer, under another name
  # with us-east-1 in it, and makes the group itself.
  log_statements = var.is_edge_function ? [{
    Sid      = "WriteLogs"
    Effect   = "Allow"
    Action   = ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"]
    Resource = "arn:${local.partition}:logs:*:${var.account_id}:log-group:/aws/lambda/us-east-1.${local.name}:*"
    }] : [{
    # No logs:CreateLogGroup: a group that Lambda makes has no retention and
    # stays behind when the function is destroyed.
    Sid      = "WriteLogs"
    Effect   = "Allow"
    Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    Resource = "${local.log_group_arn}:*"
  }]

  tracing_statements = [for enabled in [local.has_tracing] : {
    Sid      = "SendTraces"
    Effect   = "Allow"
    Action   = ["xray:PutTraceSegments", "xray:PutTelemetryRecords"]
    Resource = "*" # policy: X-Ray has no resource to name for these actions.
  } if enabled]

  queue_statements = [for enabled in [local.has_queue] : {
    Sid      = "ReceiveMessages"
    Effect   = "Allow"
    Action   = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
    Resource = var.sqs_trigger_arn
  } if enabled]

  # The ARN of a consumer with enhanced fan-out contains the stream.
  stream_statements = [for trigger in [var.stream_trigger] : {
    Sid    = "ReadStream"
    Effect = "Allow"
    Action = trigger.service == "kinesis" ? [
      "kinesis:DescribeStream",
      "kinesis:DescribeStreamSummary",
      "kinesis:GetRecords",
      "kinesis:GetShardIterator",
      "kinesis:ListShards",
      "kinesis:SubscribeToShard",
      ] : [
      "dynamodb:DescribeStream",
      "dynamodb:GetRecords",
      "dynamodb:GetShardIterator",
      "dynamodb:ListStreams",
    ]
    Resource = distinct([trigger.arn, split("/consumer/", trigger.arn)[0]])
  } if trigger != null]

  # Groups and topics have the ARN of their cluster, with another kind of resource.
  kafka_statements = [for trigger in [var.kafka_trigger] : concat(
    trigger.cluster_arn == null ? [] : [
      {
        Sid      = "FindBrokers"
        Effect   = "Allow"
        Action   = ["kafka:DescribeCluster", "kafka:DescribeClusterV2", "kafka:GetBootstrapBrokers"]
        Resource = [trigger.cluster_arn]
      },
      {
        Sid    = "ReadTopic"
        Effect = "Allow"
        Action = [
          "kafka-cluster:AlterGroup",
          "kafka-cluster:Connect",
          "kafka-cluster:DescribeClusterDynamicConfiguration",
          "kafka-cluster:DescribeGroup",
          "kafka-cluster:DescribeTopic",
          "kafka-cluster:ReadData",
        ]
        Resource = [
          trigger.cluster_arn,
          "${replace(trigger.cluster_arn, ":cluster/", ":topic/")}/${trigger.topic}",
          "${replace(trigger.cluster_arn, ":cluster/", ":group/")}/${trigger.consumer_group_id}",
        ]
      },
    ],
    [for access in trigger.source_access : {
      Sid      = "ReadSecret${index(trigger.source_access, access)}"
      Effect   = "Allow"
      Action   = ["secretsmanager:GetSecretValue"]
      Resource = [access.uri]
    } if strcontains(access.uri, ":secretsmanager:")],
    [{
      Sid    = "ReachBrokers"
      Effect = "Allow"
      Action = [
        "ec2:CreateNetworkInterface",
        "ec2:DeleteNetworkInterface",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSubnets",
        "ec2:DescribeVpcs",
      ]
      Resource = ["*"] # policy: Lambda chooses the names of the interfaces to the brokers.
    }],
  ) if trigger != null]

  # Null members are left out by compact().
  failure_destinations = compact([
    var.dead_letter_target_arn,
    try(var.stream_trigger.failure_destination_arn, null),
    try(var.kafka_trigger.failure_destination_arn, null),
  ])

  dead_letter_statements = [for index, arn in local.failure_destinations : {
    Sid      = index == 0 ? "SendDeadLetters" : "SendDeadLetters${index}"
    Effect   = "Allow"
    Action   = split(":", arn)[2] == "sns" ? "sns:Publish" : "sqs:SendMessage"
    Resource = arn
  }]

  destination_actions = {
    sqs    = "sqs:SendMessage"
    sns    = "sns:Publish"
    events = "events:PutEvents"
    lambda = "lambda:InvokeFunction"
  }

  destination_statements = [for name, arn in {
    Success = var.on_success_destination_arn
    Failure = var.on_failure_destination_arn
    } : {
    Sid      = "Send${name}"
    Effect   = "Allow"
    Action   = local.destination_actions[split(":", arn)[2]]
    Resource = arn
  } if arn != null]

  network_statements = [for config in [var.vpc_config] : {
    Sid    = "AttachNetworkInterfaces"
    Effect = "Allow"
    Action = [
      "ec2:AssignPrivateIpAddresses",
      "ec2:CreateNetworkInterface",
      "ec2:DeleteNetworkInterface",
      "ec2:DescribeNetworkInterfaces",
      "ec2:DescribeSubnets",
      "ec2:UnassignPrivateIpAddresses",
    ]
    Resource = "*" # policy: Lambda asks for these before any interface exists; the names are not known.
  } if config != null]

  # An event of the same form as a rule's, with the time that was meant rather
  # than the time of delivery. Scheduler fills the words in angle brackets in;
  # jsonencode escapes the brackets, which would hide them from it.
  schedule_event = replace(replace(jsonencode({
    version     = "0"
    id          = "<aws.scheduler.execution-id>"
    detail-type = "Scheduled Event"
    source      = "aws.scheduler"
    account     = var.account_id
    time        = "<aws.scheduler.scheduled-time>"
    region      = var.region
    resources   = ["<aws.scheduler.schedule-arn>"]
    detail      = {}
  }), "\\u003c", "<"), "\\u003e", ">")
}

# Times and modes of the files are left out of account, so that the same content
# gives the same hash on every machine.
data "archive_file" "package" {
  count = local.has_package ? 1 : 0

  type             = "zip"
  source_dir       = var.source_dir
  excludes         = var.source_excludes
  output_path      = local.package_path
  output_file_mode = "0644"
}

# The hash in the key: Lambda reads the object once, and a changed one only under another key.
resource "aws_s3_object" "package" {
  count = var.package_bucket != null && local.has_package ? 1 : 0

  bucket = var.package_bucket
  key    = "${local.name}/${data.archive_file.package[0].output_sha256}.zip"
  source = local.package_path
  tags   = var.tags

  # The new package must be there before the function leaves the old one.
  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_cloudwatch_log_group" "this" {
  name              = "/aws/lambda/${local.name}"
  retention_in_days = local.retention
  kms_key_id        = var.log_kms_key_arn
  tags              = var.tags
}

resource "aws_iam_role" "this" {
  name                 = local.name
  description          = "Role of the function ${local.name}, and of nothing else."
  assume_role_policy   = var.assume_role_policy
  permissions_boundary = var.permissions_boundary_arn
  tags                 = var.tags
}

resource "aws_iam_role_policy" "runtime" {
  name = "runtime"
  role = aws_iam_role.this.name

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      local.log_statements,
      local.tracing_statements,
      local.queue_statements,
      local.stream_statements,
      flatten(local.kafka_statements),
      local.dead_letter_statements,
      local.destination_statements,
      local.network_statements,
    )
  })
}

resource "aws_iam_role_policy" "inline" {
  for_each = var.inline_policies

  name   = each.key
  role   = aws_iam_role.this.name
  policy = each.value
}

# By number, not by ARN: the ARNs may be known only after apply.
resource "aws_iam_role_policy_attachment" "additional" {
  count = length(var.additional_policy_arns)

  role       = aws_iam_role.this.name
  policy_arn = var.additional_policy_arns[count.index]
}

resource "aws_lambda_function" "this" {
  function_name                  = local.name
  description                    = var.description
  role                           = aws_iam_role.this.arn
  package_type                   = var.package_type
  filename                       = local.is_zip && var.package_bucket == null ? local.package_path : null
  s3_bucket                      = one(aws_s3_object.package[*].bucket)
  s3_key                         = one(aws_s3_object.package[*].key)
  source_code_hash               = one(data.archive_file.package[*].output_base64sha256)
  image_uri                      = var.image_uri
  handler                        = local.is_zip ? var.handler : null
  runtime                        = local.is_zip ? var.runtime : null
  layers                         = var.layers
  architectures                  = [local.architecture]
  memory_size                    = var.memory_size
  timeout                        = var.timeout
  kms_key_arn                    = var.kms_key_arn
  reserved_concurrent_executions = var.reserved_concurrent_executions
  publish                        = var.is_edge_function || var.publish || var.alias_name != null
  tags                           = var.tags

  ephemeral_storage {
    size = var.ephemeral_storage
  }

  dynamic "environment" {
    for_each = var.is_edge_function ? [] : [merge({ ENVIRONMENT = var.environment }, var.environment_variables)]

    content {
      variables = environment.value
    }
  }

  dynamic "image_config" {
    for_each = length(var.image_command) > 0 ? [var.image_command] : []

    content {
      command = image_config.value
    }
  }

  dynamic "logging_config" {
    for_each = var.is_edge_function ? [] : [aws_cloudwatch_log_group.this.name]

    content {
      log_format            = "JSON"
      application_log_level = var.log_level
      system_log_level      = "INFO"
      log_group             = logging_config.value
    }
  }

  tracing_config {
    mode = local.has_tracing ? "Active" : "PassThrough"
  }

  dynamic "dead_letter_config" {
    for_each = var.dead_letter_target_arn == null ? [] : [var.dead_letter_target_arn]

    content {
      target_arn = dead_letter_config.value
    }
  }

  dynamic "vpc_config" {
    for_each = var.vpc_config == null ? [] : [var.vpc_config]

    content {
      subnet_ids         = vpc_config.value.subnet_ids
      security_group_ids = vpc_config.value.security_group_ids
    }
  }

  # The log group first, else Lambda makes it, without retention; the policy too,
  # for Lambda checks it when tracing, a VPC or dead letters are asked for.
  depends_on = [aws_cloudwatch_log_group.this, aws_iam_role_policy.runtime]

  # While a stage is destroyed, Terraform turns a failed precondition into a warning.
  lifecycle {
    precondition {
      condition     = !local.is_zip || local.has_package
      error_message = "${var.source_dir} has no files: build the function first."
    }

    precondition {
      condition     = var.package_bucket != null || try(data.archive_file.package[0].output_size, 0) <= 52428800
      error_message = "The package of ${local.name} is larger than 50 MB: set package_bucket (infra.packageBucket in trellis.config.ts)."
    }
  }
}

# Releases move the alias between versions, so Terraform must not move it back.
resource "aws_lambda_alias" "this" {
  count = var.alias_name == null ? 0 : 1

  name             = var.alias_name
  function_name    = aws_lambda_function.this.function_name
  function_version = aws_lambda_function.this.version

  lifecycle {
    ignore_changes = [description, function_version, routing_config]
  }
}

resource "aws_lambda_provisioned_concurrency_config" "this" {
  count = var.provisioned_concurrency == 0 ? 0 : 1

  function_name                     = aws_lambda_function.this.function_name
  qualifier                         = local.qualifier
  provisioned_concurrent_executions = var.provisioned_concurrency
}

resource "aws_lambda_function_event_invoke_config" "this" {
  count = var.is_edge_function ? 0 : 1

  function_name                = aws_lambda_function.this.function_name
  qualifier                    = local.qualifier
  maximum_retry_attempts       = var.maximum_retry_attempts
  maximum_event_age_in_seconds = var.maximum_event_age_seconds

  dynamic "destination_config" {
    for_each = var.on_success_destination_arn == null && var.on_failure_destination_arn == null ? [] : [true]

    content {
      dynamic "on_success" {
        for_each = var.on_success_destination_arn == null ? [] : [var.on_success_destination_arn]

        content {
          destination = on_success.value
        }
      }

      dynamic "on_failure" {
        for_each = var.on_failure_destination_arn == null ? [] : [var.on_failure_destination_arn]

        content {
          destination = on_failure.value
        }
      }
    }
  }

  # Lambda checks the right to send when a destination is set.
  depends_on = [aws_iam_role_policy.runtime]
}

resource "aws_lambda_permission" "api_gateway" {
  count = var.api_gateway_enabled ? 1 : 0

  statement_id  = "AllowApiGateway"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.this.function_name
  qualifier     = local.qualifier
  principal     = "apigateway.amazonaws.com"
  source_arn    = "${var.api_gateway_execution_arn == null ? "arn:${local.partition}:execute-api:${var.region}:${var.account_id}:*" : var.api_gateway_execution_arn}/*"
}

resource "aws_lambda_event_source_mapping" "queue" {
  count = local.has_queue ? 1 : 0

  function_name                      = local.qualifier == null ? aws_lambda_function.this.arn : local.target_arn
  event_source_arn                   = var.sqs_trigger_arn
  batch_size                         = var.sqs_batch_size
  maximum_batching_window_in_seconds = var.sqs_batching_window_seconds
  function_response_types            = ["ReportBatchItemFailures"]
  tags                               = var.tags

  dynamic "filter_criteria" {
    for_each = length(var.sqs_filter_patterns) == 0 ? [] : [var.sqs_filter_patterns]

    content {
      dynamic "filter" {
        for_each = filter_criteria.value

        content {
          pattern = filter.value
        }
      }
    }
  }

  dynamic "scaling_config" {
    for_each = var.sqs_maximum_concurrency == null ? [] : [var.sqs_maximum_concurrency]

    content {
      maximum_concurrency = scaling_config.value
    }
  }
}

resource "aws_lambda_event_source_mapping" "stream" {
  count = var.stream_trigger == null ? 0 : 1

  function_name                      = aws_lambda_function.this.arn
  event_source_arn                   = var.stream_trigger.arn
  starting_position                  = var.stream_trigger.starting_position
  batch_size                         = var.stream_trigger.batch_size
  maximum_batching_window_in_seconds = var.stream_trigger.batching_window_seconds
  bisect_batch_on_function_error     = var.stream_trigger.bisect_on_error
  maximum_retry_attempts             = var.stream_trigger.maximum_retry_attempts
  maximum_record_age_in_seconds      = var.stream_trigger.maximum_record_age_seconds
  parallelization_factor             = var.stream_trigger.parallelization_factor
  function_response_types            = ["ReportBatchItemFailures"]
  tags                               = var.tags

  dynamic "filter_criteria" {
    for_each = length(var.stream_trigger.filter_patterns) == 0 ? [] : [var.stream_trigger.filter_patterns]

    content {
      dynamic "filter" {
        for_each = filter_criteria.value

        content {
          pattern = filter.value
        }
      }
    }
  }

  dynamic "destination_config" {
    for_each = var.stream_trigger.failure_destination_arn == null ? [] : [var.stream_trigger.failure_destination_arn]

    content {
      on_failure {
        destination_arn = destination_config.value
      }
    }
  }

  depends_on = [aws_iam_role_policy.runtime]
}

resource "aws_lambda_event_source_mapping" "kafka" {
  count = var.kafka_trigger == null ? 0 : 1

  function_name                      = aws_lambda_function.this.arn
  event_source_arn                   = var.kafka_trigger.cluster_arn
  topics                             = [var.kafka_trigger.topic]
  starting_position                  = var.kafka_trigger.starting_position
  batch_size                         = var.kafka_trigger.batch_size
  maximum_batching_window_in_seconds = var.kafka_trigger.batching_window_seconds
  function_response_types            = var.kafka_trigger.partial_failures ? ["ReportBatchItemFailures"] : null
  bisect_batch_on_function_error     = var.kafka_trigger.provisioned_pollers == null ? null : var.kafka_trigger.bisect_on_error
  maximum_retry_attempts             = var.kafka_trigger.provisioned_pollers == null ? null : var.kafka_trigger.maximum_retry_attempts
  maximum_record_age_in_seconds      = var.kafka_trigger.provisioned_pollers == null ? null : var.kafka_trigger.maximum_record_age_seconds
  tags                               = var.tags

  dynamic "amazon_managed_kafka_event_source_config" {
    for_each = var.kafka_trigger.cluster_arn == null ? [] : [var.kafka_trigger.consumer_group_id]

    content {
      consumer_group_id = amazon_managed_kafka_event_source_config.value
    }
  }

  dynamic "self_managed_kafka_event_source_config" {
    for_each = var.kafka_trigger.cluster_arn == null ? [var.kafka_trigger.consumer_group_id] : []

    content {
      consumer_group_id = self_managed_kafka_event_source_config.value
    }
  }

  dynamic "self_managed_event_source" {
    for_each = var.kafka_trigger.cluster_arn == null ? [var.kafka_trigger.bootstrap_servers] : []

    content {
      endpoints = { KAFKA_BOOTSTRAP_SERVERS = join(",", self_managed_event_source.value) }
    }
  }

  dynamic "source_access_configuration" {
    for_each = var.kafka_trigger.source_access

    content {
      type = source_access_configuration.value.type
      uri  = source_access_configuration.value.uri
    }
  }

  dynamic "provisioned_poller_config" {
    for_each = var.kafka_trigger.provisioned_pollers == null ? [] : [var.kafka_trigger.provisioned_pollers]

    content {
      minimum_pollers = provisioned_poller_config.value.minimum
      maximum_pollers = provisioned_poller_config.value.maximum
    }
  }

  dynamic "filter_criteria" {
    for_each = length(var.kafka_trigger.filter_patterns) == 0 ? [] : [var.kafka_trigger.filter_patterns]

    content {
      dynamic "filter" {
        for_each = filter_criteria.value

        content {
          pattern = filter.value
        }
      }
    }
  }

  dynamic "destination_config" {
    for_each = var.kafka_trigger.failure_destination_arn == null ? [] : [var.kafka_trigger.failure_destination_arn]

    content {
      on_failure {
        destination_arn = destination_config.value
      }
    }
  }

  depends_on = [aws_iam_role_policy.runtime]
}

resource "aws_iam_role" "schedule" {
  count = var.schedule_expression == null ? 0 : 1

  name                 = length(local.name) <= 55 ? "${local.name}-schedule" : "${substr(local.name, 0, 46)}-${substr(sha1(local.name), 0, 8)}-schedule"
  description          = "Lets EventBridge Scheduler invoke the function ${local.name}."
  permissions_boundary = var.permissions_boundary_arn
  tags                 = var.tags

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "scheduler.amazonaws.com" }
      Condition = { StringEquals = { "aws:SourceAccount" = var.account_id } }
    }]
  })
}

resource "aws_iam_role_policy" "schedule" {
  count = var.schedule_expression == null ? 0 : 1

  name = "invoke"
  role = aws_iam_role.schedule[0].name

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid      = "Invoke"
      Effect   = "Allow"
      Action   = "lambda:InvokeFunction"
      Resource = local.target_arn
    }]
  })
}

resource "aws_scheduler_schedule" "this" {
  count = var.schedule_expression == null ? 0 : 1

  name                         = local.name
  description                  = "Invokes the function ${local.name}."
  schedule_expression          = var.schedule_expression
  schedule_expression_timezone = var.schedule_timezone

  flexible_time_window {
    mode = "OFF"
  }

  target {
    arn      = local.qualifier == null ? aws_lambda_function.this.arn : local.target_arn
    role_arn = aws_iam_role.schedule[0].arn
    input    = local.schedule_event
  }

  depends_on = [aws_iam_role_policy.schedule]
}

# By number, not by ARN: the ARNs may be known only after apply.
resource "aws_lambda_permission" "event_rule" {
  count = length(var.eventbridge_rule_arns)

  statement_id  = "AllowEventRule${count.index}"
  action        = "lambda:InvokeFunction"
  function_name = aws_lambda_function.this.function_name
  qualifier     = local.qualifier
  principal     = "events.amazonaws.com"
  source_arn    = var.eventbridge_rule_arns[count.index]
}
