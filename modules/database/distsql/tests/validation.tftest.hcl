# Every rule of variables.tf refuses a value that breaks it.

mock_provider "aws" {
  # Values that the rest of the module hands on, where a made-up word would not do.

  mock_resource "aws_iam_policy" {
    defaults = {
      arn = "arn:aws:iam::123456789012:policy/mocked"
    }
  }

  mock_resource "aws_dsql_cluster" {
    defaults = {
      arn        = "arn:aws:dsql:eu-central-1:123456789012:cluster/abcdefghijklmnopqrstuvwxyz"
      identifier = "abcdefghijklmnopqrstuvwxyz"
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

run "kms_key_arn_key_id" {
  command = plan

  variables {
    kms_key_arn = "11111111-2222"
  }

  expect_failures = [var.kms_key_arn]
}
