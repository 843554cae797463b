# Every rule of variables.tf refuses a value that breaks it.

mock_provider "aws" {
  # Values that the rest of the module hands on, where a made-up word would not do.

  mock_resource "aws_cloudwatch_log_group" {
    defaults = {
      arn = "arn:aws:logs:eu-central-1:123456789012:log-group:mocked"
    }
  }

  mock_resource "aws_apigatewayv2_api" {
    defaults = {
      execution_arn = "arn:aws:execute-api:eu-central-1:123456789012:mocked"
      api_endpoint  = "https://mocked.execute-api.eu-central-1.amazonaws.com"
      id            = "mocked"
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

  mock_resource "aws_acm_certificate" {
    defaults = {
      arn                       = "arn:aws:acm:eu-central-1:123456789012:certificate/mocked"
      domain_validation_options = [{ domain_name = "api.example.com", resource_record_name = "_a.api.example.com", resource_record_type = "CNAME", resource_record_value = "_b.acm-validations.aws" }]
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

run "routes_path_without_method" {
  command = plan

  variables {
    routes = { "/notes" = { invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:f/invocations" } }
  }

  expect_failures = [var.routes]
}

run "routes_function_arn" {
  command = plan

  variables {
    routes = { "GET /notes" = { invoke_arn = "arn:aws:lambda:eu-central-1:123456789012:function:f" } }
  }

  expect_failures = [var.routes]
}

run "routes_unknown_authorization" {
  command = plan

  variables {
    routes = { "GET /notes" = { invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:f/invocations", authorization = "AWS_IAM" } }
  }

  expect_failures = [var.routes]
}

run "authorizer_function_arn" {
  command = plan

  variables {
    authorizer = { invoke_arn = "arn:aws:lambda:eu-central-1:123456789012:function:f" }
  }

  expect_failures = [var.authorizer]
}

run "authorizer_rest_source" {
  command = plan

  variables {
    authorizer = { invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:f/invocations", identity_sources = ["method.request.header.Authorization"] }
  }

  expect_failures = [var.authorizer]
}

run "authorizer_remembers_nothing" {
  command = plan

  variables {
    authorizer = { invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:f/invocations", identity_sources = [] }
  }

  expect_failures = [var.authorizer]
}

run "authorizer_missing" {
  command = plan

  variables {
    routes = { "GET /notes" = { invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:f/invocations", authorization = "CUSTOM" } }
  }

  expect_failures = [var.authorizer]
}

run "jwt_issuer_without_https" {
  command = plan

  variables {
    jwt = { issuer = "login.example.com", audience = ["notes"] }
  }

  expect_failures = [var.jwt]
}

run "jwt_missing" {
  command = plan

  variables {
    routes = { "GET /notes" = { invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:f/invocations", authorization = "JWT" } }
  }

  expect_failures = [var.jwt]
}

run "domain_name_url" {
  command = plan

  variables {
    domain_name    = "https://api.example.com"
    hosted_zone_id = "Z0123456789ABCDEFGHIJ"
  }

  expect_failures = [var.domain_name]
}

run "domain_name_without_zone" {
  command = plan

  variables {
    domain_name = "api.example.com"
  }

  expect_failures = [var.domain_name]
}

run "hosted_zone_id_name" {
  command = plan

  variables {
    hosted_zone_id = "example.com"
  }

  expect_failures = [var.hosted_zone_id]
}

run "certificate_arn_id" {
  command = plan

  variables {
    certificate_arn = "11111111-2222"
  }

  expect_failures = [var.certificate_arn]
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
