# Every rule of variables.tf refuses a value that breaks it.

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

run "table_name_slash" {
  command = plan

  variables {
    table_name = "a/b"
  }

  expect_failures = [var.table_name]
}

run "kms_key_arn_key_id" {
  command = plan

  variables {
    kms_key_arn = "11111111-2222"
  }

  expect_failures = [var.kms_key_arn]
}
