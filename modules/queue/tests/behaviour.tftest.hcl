# What is made, what it is called, and what the policies allow.

mock_provider "aws" {
  # Values that the rest of the module hands on, where a made-up word would not do.

  mock_resource "aws_sqs_queue" {
    defaults = {
      arn = "arn:aws:sqs:eu-central-1:123456789012:mocked"
      url = "https://sqs.eu-central-1.amazonaws.com/123456789012/mocked"
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
  queue_name  = "mail"
  name_prefix = "notes-dev"
  tags        = { Project = "notes" }
}

run "defaults" {
  assert {
    condition     = aws_sqs_queue.this.name == "notes-dev-mail" && aws_sqs_queue.dlq.name == "notes-dev-mail-dlq"
    error_message = "The queues must be called by prefix and short name."
  }

  assert {
    condition     = output.queue_arn == "arn:aws:sqs:eu-central-1:123456789012:notes-dev-mail" && output.dlq_arn == "arn:aws:sqs:eu-central-1:123456789012:notes-dev-mail-dlq"
    error_message = "The ARNs must be known from the names."
  }

  assert {
    condition     = aws_sqs_queue.this.tags == tomap({ Project = "notes" }) && aws_sqs_queue.dlq.tags == tomap({ Project = "notes" })
    error_message = "Both queues must carry the tags."
  }

  assert {
    condition     = aws_sqs_queue.this.sqs_managed_sse_enabled && aws_sqs_queue.dlq.sqs_managed_sse_enabled
    error_message = "Both queues must be encrypted."
  }

  assert {
    condition     = aws_sqs_queue.this.visibility_timeout_seconds == 180 && aws_sqs_queue.this.receive_wait_time_seconds == 20 && aws_sqs_queue.this.message_retention_seconds == 345600 && aws_sqs_queue.dlq.message_retention_seconds == 1209600
    error_message = "The times must be those of the interface."
  }

  assert {
    condition     = jsondecode(aws_sqs_queue_redrive_policy.this.redrive_policy) == { deadLetterTargetArn = output.dlq_arn, maxReceiveCount = 3 }
    error_message = "After three attempts a message must go to the dead-letter queue."
  }

  assert {
    condition     = jsondecode(aws_sqs_queue_redrive_allow_policy.dlq.redrive_allow_policy) == { redrivePermission = "byQueue", sourceQueueArns = [output.queue_arn] }
    error_message = "Only this queue may use the dead-letter queue."
  }

  assert {
    condition     = length(aws_cloudwatch_metric_alarm.dlq) == 1 && length(aws_cloudwatch_metric_alarm.oldest_message) == 0
    error_message = "There must be one alarm by default."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.dlq[0].dimensions == tomap({ QueueName = "notes-dev-mail-dlq" }) && aws_cloudwatch_metric_alarm.dlq[0].treat_missing_data == "notBreaching"
    error_message = "The alarm must watch the dead-letter queue, and keep still when it is unused."
  }
}

run "policies_refuse_plain_http_and_allow_nobody" {
  assert {
    condition = alltrue([for policy in [aws_sqs_queue_policy.this, aws_sqs_queue_policy.dlq] : (
      [for statement in jsondecode(policy.policy).Statement : [statement.Effect, statement.Condition]] == [["Deny", { Bool = { "aws:SecureTransport" = "false" } }]]
    )])
    error_message = "The policies must refuse plain HTTP and allow nothing."
  }

  assert {
    condition     = jsondecode(aws_sqs_queue_policy.this.policy).Statement[0].Resource == output.queue_arn && jsondecode(aws_sqs_queue_policy.dlq.policy).Statement[0].Resource == output.dlq_arn
    error_message = "Each policy must name its own queue."
  }

  assert {
    condition     = jsondecode(output.send_policy_json).Statement == [{ Sid = "Send", Effect = "Allow", Action = ["sqs:SendMessage", "sqs:GetQueueUrl"], Resource = output.queue_arn }]
    error_message = "The policy must allow sending to this queue only."
  }
}

run "a_sender_is_bound_to_its_source" {
  variables {
    allowed_senders = [
      { service = "sns.amazonaws.com", source_arn = "arn:aws:sns:eu-central-1:123456789012:shared" },
      { service = "s3.amazonaws.com", source_arn = "arn:aws:s3:::files" },
    ]
  }

  assert {
    condition = jsondecode(aws_sqs_queue_policy.this.policy).Statement[1] == {
      Sid       = "AllowSender0"
      Effect    = "Allow"
      Principal = { Service = "sns.amazonaws.com" }
      Action    = "sqs:SendMessage"
      Resource  = output.queue_arn
      Condition = { ArnLike = { "aws:SourceArn" = "arn:aws:sns:eu-central-1:123456789012:shared" } }
    }
    error_message = "A topic may send, for itself only."
  }

  assert {
    condition     = jsondecode(aws_sqs_queue_policy.this.policy).Statement[2].Condition.StringEquals == { "aws:SourceAccount" = "123456789012" }
    error_message = "A bucket must be of this account."
  }
}

run "first_in_first_out" {
  variables {
    fifo_queue                  = true
    content_based_deduplication = true
  }

  assert {
    condition     = aws_sqs_queue.this.name == "notes-dev-mail.fifo" && aws_sqs_queue.dlq.name == "notes-dev-mail-dlq.fifo" && aws_sqs_queue.this.fifo_queue && aws_sqs_queue.dlq.fifo_queue
    error_message = "Both queues must be first-in-first-out, by name and by kind."
  }

  assert {
    condition     = aws_sqs_queue.this.content_based_deduplication
    error_message = "The switch must reach the queue."
  }
}

run "own_key" {
  variables {
    kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/own"
  }

  assert {
    condition     = alltrue([for queue in [aws_sqs_queue.this, aws_sqs_queue.dlq] : queue.kms_master_key_id == "arn:aws:kms:eu-central-1:123456789012:key/own"])
    error_message = "The key must reach both queues."
  }
}

run "alarms_can_be_chosen" {
  variables {
    enable_dlq_alarm             = false
    oldest_message_alarm_seconds = 600
    alarm_sns_topic_arns         = ["arn:aws:sns:eu-central-1:123456789012:alarms"]
  }

  assert {
    condition     = length(aws_cloudwatch_metric_alarm.dlq) == 0 && aws_cloudwatch_metric_alarm.oldest_message[0].threshold == 600
    error_message = "The switches must add and remove the alarms."
  }

  assert {
    condition     = aws_cloudwatch_metric_alarm.oldest_message[0].alarm_actions == toset(["arn:aws:sns:eu-central-1:123456789012:alarms"]) && aws_cloudwatch_metric_alarm.oldest_message[0].ok_actions == toset(["arn:aws:sns:eu-central-1:123456789012:alarms"])
    error_message = "The topics must hear of the alarm and of its end."
  }
}
