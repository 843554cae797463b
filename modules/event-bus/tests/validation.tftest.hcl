# Every rule of variables.tf refuses a value that breaks it.

mock_provider "aws" {}

variables {
  bus_name    = "domain"
  name_prefix = "notes-dev"
  tags        = { Project = "notes" }
}

run "accepts_the_base" {
  command = plan
}

run "bus_name_slash" {
  command = plan

  variables {
    bus_name = "a/b"
  }

  expect_failures = [var.bus_name]
}

run "name_prefix_underscore" {
  command = plan

  variables {
    name_prefix = "notes_dev"
  }

  expect_failures = [var.name_prefix]
}

run "allowed_account_ids_too_short" {
  command = plan

  variables {
    allowed_account_ids = ["1234"]
  }

  expect_failures = [var.allowed_account_ids]
}

run "archive_retention_days_zero" {
  command = plan

  variables {
    archive_retention_days = 0
  }

  expect_failures = [var.archive_retention_days]
}

run "kms_key_arn_key_id" {
  command = plan

  variables {
    kms_key_arn = "11111111-2222"
  }

  expect_failures = [var.kms_key_arn]
}
