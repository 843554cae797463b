# Every rule of variables.tf refuses a value that breaks it.

mock_provider "aws" {}

variables {
  project_name = "notes"
  environment  = "dev"
}

run "accepts_the_base" {
  command = plan
}

run "project_name_upper_case" {
  command = plan

  variables {
    project_name = "Notes"
  }

  expect_failures = [var.project_name]
}

run "project_name_double_hyphen" {
  command = plan

  variables {
    project_name = "my--notes"
  }

  expect_failures = [var.project_name]
}

run "project_name_too_long" {
  command = plan

  variables {
    project_name = "abcdefghijklmnopqrstuvwxyz-0123456789"
  }

  expect_failures = [var.project_name]
}

run "environment_unknown_stage" {
  command = plan

  variables {
    environment = "Production"
  }

  expect_failures = [var.environment]
}

run "extra_tags_reserved_tag" {
  command = plan

  variables {
    extra_tags = { "aws:owner" = "me" }
  }

  expect_failures = [var.extra_tags]
}

run "environment_of_a_preview" {
  command = plan

  variables {
    environment = "preview-42"
  }
}

run "environment_too_long" {
  command = plan

  variables {
    environment = "preview-of-a-branch-42"
  }

  expect_failures = [var.environment]
}

run "permissions_boundary_arn_name" {
  command = plan

  variables {
    permissions_boundary_arn = "functions"
  }

  expect_failures = [var.permissions_boundary_arn]
}
