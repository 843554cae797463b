# Every rule of variables.tf refuses a value that breaks it.

mock_provider "aws" {}

variables {
  bucket_name = "files"
  name_prefix = "notes-dev"
  tags        = { Project = "notes" }
}

run "accepts_the_base" {
  command = plan
}

run "bucket_name_upper_case" {
  command = plan

  variables {
    bucket_name = "Files"
  }

  expect_failures = [var.bucket_name]
}

run "bucket_name_too_long" {
  command = plan

  variables {
    bucket_name = "a-name-that-is-much-too-long-for-a-bucket-which-takes-63-characters"
  }

  expect_failures = [var.bucket_name]
}

run "name_prefix_upper_case" {
  command = plan

  variables {
    name_prefix = "Notes"
  }

  expect_failures = [var.name_prefix]
}

run "project_name_dot" {
  command = plan

  variables {
    project_name = "example.com"
  }

  expect_failures = [var.project_name]
}

run "noncurrent_version_days_zero" {
  command = plan

  variables {
    noncurrent_version_days = 0
  }

  expect_failures = [var.noncurrent_version_days]
}

run "expiration_days_zero" {
  command = plan

  variables {
    expiration_days = 0
  }

  expect_failures = [var.expiration_days]
}

run "kms_key_arn_key_id" {
  command = plan

  variables {
    kms_key_arn = "11111111-2222"
  }

  expect_failures = [var.kms_key_arn]
}

run "cors_allowed_origins_no_scheme" {
  command = plan

  variables {
    cors_allowed_origins = ["app.example.com"]
  }

  expect_failures = [var.cors_allowed_origins]
}

run "cors_allowed_methods_patch" {
  command = plan

  variables {
    cors_allowed_methods = ["PATCH"]
  }

  expect_failures = [var.cors_allowed_methods]
}

run "lambda_notifications_function_name" {
  command = plan

  variables {
    lambda_notifications = [{ function_arn = "thumbnails" }]
  }

  expect_failures = [var.lambda_notifications]
}

run "lambda_notifications_no_event" {
  command = plan

  variables {
    lambda_notifications = [{ function_arn = "arn:aws:lambda:eu-central-1:123456789012:function:f", events = ["created"] }]
  }

  expect_failures = [var.lambda_notifications]
}

run "cloudfront_price_class_unknown" {
  command = plan

  variables {
    cloudfront_price_class = "PriceClass_300"
  }

  expect_failures = [var.cloudfront_price_class]
}

run "cloudfront_aliases_without_certificate" {
  command = plan

  variables {
    cloudfront_aliases = ["files.example.com"]
  }

  expect_failures = [var.cloudfront_aliases]
}

run "cloudfront_certificate_arn_other_region" {
  command = plan

  variables {
    cloudfront_aliases         = ["files.example.com"]
    cloudfront_certificate_arn = "arn:aws:acm:eu-central-1:123456789012:certificate/1"
  }

  expect_failures = [var.cloudfront_certificate_arn]
}

run "reader_distribution_arns_id" {
  command = plan

  variables {
    reader_distribution_arns = ["E1234567890"]
  }

  expect_failures = [var.reader_distribution_arns]
}
