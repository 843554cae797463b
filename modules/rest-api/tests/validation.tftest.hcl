# Every rule of variables.tf refuses a value that breaks it.

mock_provider "aws" {
  # Values that the rest of the module hands on, where a made-up word would not do.

  mock_resource "aws_cloudwatch_log_group" {
    defaults = {
      arn = "arn:aws:logs:eu-central-1:123456789012:log-group:mocked"
    }
  }

  mock_resource "aws_api_gateway_rest_api" {
    defaults = {
      execution_arn = "arn:aws:execute-api:eu-central-1:123456789012:mocked"
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

run "stage_name_slash" {
  command = plan

  variables {
    stage_name = "v1/live"
  }

  expect_failures = [var.stage_name]
}

run "endpoint_type_unknown_type" {
  command = plan

  variables {
    endpoint_type = "GLOBAL"
  }

  expect_failures = [var.endpoint_type]
}

run "vpc_endpoint_ids_private_without_endpoint" {
  command = plan

  variables {
    endpoint_type = "PRIVATE"
  }

  expect_failures = [var.vpc_endpoint_ids]
}

run "authorizer_function_invoke_arn_function_arn" {
  command = plan

  variables {
    authorizer_function_invoke_arn = "arn:aws:lambda:eu-central-1:123456789012:function:f"
  }

  expect_failures = [var.authorizer_function_invoke_arn]
}

run "authorizer_ttl_seconds_over_an_hour" {
  command = plan

  variables {
    authorizer_ttl_seconds = 3601
  }

  expect_failures = [var.authorizer_ttl_seconds]
}

run "authorizer_identity_source_remembered_by_nothing" {
  command = plan

  variables {
    authorizer_identity_source = ""
  }

  expect_failures = [var.authorizer_identity_source]
}

run "throttle_burst_limit_fraction" {
  command = plan

  variables {
    throttle_burst_limit = 1.5
  }

  expect_failures = [var.throttle_burst_limit]
}

run "throttle_rate_limit_negative" {
  command = plan

  variables {
    throttle_rate_limit = -1
  }

  expect_failures = [var.throttle_rate_limit]
}

run "quota_limit_zero" {
  command = plan

  variables {
    quota_limit = 0
  }

  expect_failures = [var.quota_limit]
}

run "cors_allow_origin_path" {
  command = plan

  variables {
    cors_allow_origin = "https://app.example.com/"
  }

  expect_failures = [var.cors_allow_origin]
}

run "cors_allow_headers_quote" {
  command = plan

  variables {
    cors_allow_headers = ["x-key'"]
  }

  expect_failures = [var.cors_allow_headers]
}

run "log_retention_days_no_such_period" {
  command = plan

  variables {
    log_retention_days = 0
  }

  expect_failures = [var.log_retention_days]
}

run "log_kms_key_arn_key_id" {
  command = plan

  variables {
    log_kms_key_arn = "11111111-2222"
  }

  expect_failures = [var.log_kms_key_arn]
}

run "domain_name_with_a_scheme" {
  command = plan

  variables {
    domain_name    = "https://api.example.com"
    hosted_zone_id = "Z0123456789ABC"
  }

  expect_failures = [var.domain_name]
}

run "domain_name_without_a_zone" {
  command = plan

  variables {
    domain_name = "api.example.com"
  }

  expect_failures = [var.domain_name]
}

run "domain_name_of_an_edge_endpoint" {
  command = plan

  variables {
    domain_name    = "api.example.com"
    hosted_zone_id = "Z0123456789ABC"
    endpoint_type  = "EDGE"
  }

  expect_failures = [var.domain_name]
}

run "hosted_zone_id_of_a_name" {
  command = plan

  variables {
    hosted_zone_id = "example.com"
  }

  expect_failures = [var.hosted_zone_id]
}

run "certificate_arn_of_a_name" {
  command = plan

  variables {
    certificate_arn = "api.example.com"
  }

  expect_failures = [var.certificate_arn]
}

run "minimum_compression_bytes_too_large" {
  command = plan

  variables {
    minimum_compression_bytes = 10485761
  }

  expect_failures = [var.minimum_compression_bytes]
}
