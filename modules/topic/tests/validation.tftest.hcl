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
  topic_name  = "shared"
  name_prefix = "notes-dev"
}

run "accepts_the_base" {
  command = plan
}

run "topic_name_with_ending" {
  command = plan

  variables {
    topic_name = "shared.fifo"
  }

  expect_failures = [var.topic_name]
}

run "name_prefix_underscore" {
  command = plan

  variables {
    name_prefix = "notes_dev"
  }

  expect_failures = [var.name_prefix]
}

run "platform_unknown" {
  command = plan

  variables {
    platform            = "PUSH_C"
    platform_credential = "key"
  }

  expect_failures = [var.platform]
}

run "platform_credential_missing" {
  command = plan

  variables {
    platform = "PUSH_B"
  }

  expect_failures = [var.platform_credential]
}

run "platform_principal_wrong_platform" {
  command = plan

  variables {
    platform            = "PUSH_B"
    platform_credential = "key"
    platform_principal  = "certificate"
  }

  expect_failures = [var.platform_principal]
}

run "content_based_deduplication_without_fifo" {
  command = plan

  variables {
    content_based_deduplication = true
  }

  expect_failures = [var.content_based_deduplication]
}

run "subscriptions_plain_http" {
  command = plan

  variables {
    subscriptions = { hook = { protocol = "http", endpoint = "http://example.com" } }
  }

  expect_failures = [var.subscriptions]
}

run "subscriptions_filter_is_no_json" {
  command = plan

  variables {
    subscriptions = { hook = { protocol = "https", endpoint = "https://example.com", filter_policy = "high" } }
  }

  expect_failures = [var.subscriptions]
}

run "publisher_services_no_service" {
  command = plan

  variables {
    create_kms_key     = true
    publisher_services = [{ service = "s3", source_arn = "arn:aws:s3:::files" }]
  }

  expect_failures = [var.publisher_services]
}

run "publisher_services_without_key" {
  command = plan

  variables {
    publisher_services = [{ service = "s3.amazonaws.com", source_arn = "arn:aws:s3:::files" }]
  }

  expect_failures = [var.publisher_services]
}

run "kms_key_arn_two_keys" {
  command = plan

  variables {
    create_kms_key = true
    kms_key_arn    = "arn:aws:kms:eu-central-1:123456789012:key/1"
  }

  expect_failures = [var.kms_key_arn]
}
