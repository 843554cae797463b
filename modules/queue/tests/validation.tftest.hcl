# Every rule of variables.tf refuses a value that breaks it.

mock_provider "aws" {}

variables {
  queue_name  = "mail"
  name_prefix = "notes-dev"
  tags        = { Project = "notes" }
}

run "accepts_the_base" {
  command = plan
}

run "queue_name_with_ending" {
  command = plan

  variables {
    queue_name = "mail.fifo"
  }

  expect_failures = [var.queue_name]
}

run "name_prefix_underscore" {
  command = plan

  variables {
    name_prefix = "notes_dev"
  }

  expect_failures = [var.name_prefix]
}

run "visibility_timeout_seconds_too_long" {
  command = plan

  variables {
    visibility_timeout_seconds = 43201
  }

  expect_failures = [var.visibility_timeout_seconds]
}

run "max_receive_count_zero" {
  command = plan

  variables {
    max_receive_count = 0
  }

  expect_failures = [var.max_receive_count]
}

run "receive_wait_time_seconds_too_long" {
  command = plan

  variables {
    receive_wait_time_seconds = 21
  }

  expect_failures = [var.receive_wait_time_seconds]
}

run "retention_seconds_too_short" {
  command = plan

  variables {
    retention_seconds = 59
  }

  expect_failures = [var.retention_seconds]
}

run "dlq_retention_seconds_too_long" {
  command = plan

  variables {
    dlq_retention_seconds = 1209601
  }

  expect_failures = [var.dlq_retention_seconds]
}

run "dlq_retention_seconds_shorter_than_queue" {
  command = plan

  variables {
    retention_seconds     = 864000
    dlq_retention_seconds = 345600
  }

  expect_failures = [var.dlq_retention_seconds]
}

run "delay_seconds_too_long" {
  command = plan

  variables {
    delay_seconds = 901
  }

  expect_failures = [var.delay_seconds]
}

run "content_based_deduplication_without_fifo" {
  command = plan

  variables {
    content_based_deduplication = true
  }

  expect_failures = [var.content_based_deduplication]
}

run "kms_key_arn_key_id" {
  command = plan

  variables {
    kms_key_arn = "11111111-2222"
  }

  expect_failures = [var.kms_key_arn]
}

run "allowed_senders_no_service" {
  command = plan

  variables {
    allowed_senders = [{ service = "sns", source_arn = "arn:aws:sns:eu-central-1:123456789012:t" }]
  }

  expect_failures = [var.allowed_senders]
}

run "allowed_senders_every_source" {
  command = plan

  variables {
    allowed_senders = [{ service = "sns.amazonaws.com", source_arn = "*" }]
  }

  expect_failures = [var.allowed_senders]
}

run "oldest_message_alarm_seconds_zero" {
  command = plan

  variables {
    oldest_message_alarm_seconds = 0
  }

  expect_failures = [var.oldest_message_alarm_seconds]
}
