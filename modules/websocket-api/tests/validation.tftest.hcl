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
      api_endpoint  = "wss://mocked.execute-api.eu-central-1.amazonaws.com"
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

run "route_selection_expression_header" {
  command = plan

  variables {
    route_selection_expression = "$request.header.action"
  }

  expect_failures = [var.route_selection_expression]
}

run "stage_name_default" {
  command = plan

  variables {
    stage_name = "$default"
  }

  expect_failures = [var.stage_name]
}

run "throttling_burst_limit_fraction" {
  command = plan

  variables {
    throttling_burst_limit = 1.5
  }

  expect_failures = [var.throttling_burst_limit]
}

run "throttling_rate_limit_negative" {
  command = plan

  variables {
    throttling_rate_limit = -1
  }

  expect_failures = [var.throttling_rate_limit]
}

run "routes_unknown_dollar" {
  command = plan

  variables {
    routes = { "$open" = { function_name = "f", invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:f/invocations" } }
  }

  expect_failures = [var.routes]
}

run "routes_function_arn" {
  command = plan

  variables {
    routes = { "$default" = { function_name = "f", invoke_arn = "arn:aws:lambda:eu-central-1:123456789012:function:f" } }
  }

  expect_failures = [var.routes]
}

run "authorizer_without_connect" {
  command = plan

  variables {
    authorizer = { function_name = "f", invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:f/invocations" }
  }

  expect_failures = [var.authorizer]
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
