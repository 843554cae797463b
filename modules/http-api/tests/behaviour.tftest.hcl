# What is made, what it is called, and who is let through.

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

run "defaults" {
  assert {
    condition     = aws_apigatewayv2_api.this.name == "notes-dev-http" && aws_apigatewayv2_api.this.protocol_type == "HTTP" && length(aws_apigatewayv2_api.this.cors_configuration) == 0
    error_message = "The API must be an HTTP API that leaves the headers of CORS to the functions."
  }

  assert {
    condition     = aws_apigatewayv2_stage.this.name == "$default" && aws_apigatewayv2_stage.this.auto_deploy && one(aws_apigatewayv2_stage.this.default_route_settings).throttling_burst_limit == 50 && one(aws_apigatewayv2_stage.this.default_route_settings).throttling_rate_limit == 100
    error_message = "The stage must be the root of the URL, and throttled."
  }

  assert {
    condition     = one(aws_apigatewayv2_stage.this.access_log_settings).destination_arn == "arn:aws:logs:eu-central-1:123456789012:log-group:/aws/apigateway/notes-dev-http/access" && jsondecode(one(aws_apigatewayv2_stage.this.access_log_settings).format).routeKey == "$context.routeKey" && aws_cloudwatch_log_group.access.retention_in_days == 90
    error_message = "The access log must be JSON, in its own group, for 90 days."
  }

  assert {
    condition     = !strcontains(one(aws_apigatewayv2_stage.this.access_log_settings).format, "$context.path")
    error_message = "The access log must have no path, which may hold a secret."
  }

  assert {
    condition     = output.base_url == "https://mocked.execute-api.eu-central-1.amazonaws.com" && output.origin_domain == "mocked.execute-api.eu-central-1.amazonaws.com"
    error_message = "The URL must be the gateway's, without a stage."
  }
}

run "routes" {
  variables {
    authorizer = { invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:f/invocations" }
    jwt        = { issuer = "https://login.example.com/", audience = ["notes"] }

    routes = {
      "GET /notes"    = { invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:f/invocations" }
      "POST /notes"   = { invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:f/invocations", authorization = "CUSTOM" }
      "DELETE /notes" = { invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:f/invocations", authorization = "JWT" }
    }
  }

  assert {
    condition     = { for key, route in aws_apigatewayv2_route.this : key => route.authorization_type } == { "GET /notes" = "NONE", "POST /notes" = "CUSTOM", "DELETE /notes" = "JWT" } && aws_apigatewayv2_route.this["POST /notes"].authorizer_id == aws_apigatewayv2_authorizer.function[0].id && aws_apigatewayv2_route.this["DELETE /notes"].authorizer_id == aws_apigatewayv2_authorizer.jwt[0].id
    error_message = "Each route must have its own authorization."
  }

  assert {
    condition     = alltrue([for integration in aws_apigatewayv2_integration.this : integration.payload_format_version == "2.0" && integration.integration_method == "POST"])
    error_message = "Functions must receive the format 2.0."
  }

  assert {
    condition     = aws_apigatewayv2_authorizer.function[0].authorizer_payload_format_version == "2.0" && aws_apigatewayv2_authorizer.function[0].enable_simple_responses && aws_apigatewayv2_authorizer.function[0].authorizer_result_ttl_in_seconds == 300 && aws_apigatewayv2_authorizer.function[0].identity_sources == toset(["$request.header.Authorization"])
    error_message = "The authorizer must answer in the format 2.0."
  }

  assert {
    condition     = one(aws_apigatewayv2_authorizer.jwt[0].jwt_configuration).issuer == "https://login.example.com/" && one(aws_apigatewayv2_authorizer.jwt[0].jwt_configuration).audience == toset(["notes"])
    error_message = "The gateway must accept tokens of the issuer for the audience."
  }
}

run "domain" {
  variables {
    domain_name                  = "api.example.com"
    hosted_zone_id               = "Z0123456789ABCDEFGHIJ"
    disable_execute_api_endpoint = true
  }

  assert {
    condition     = output.base_url == "https://api.example.com" && aws_apigatewayv2_api.this.disable_execute_api_endpoint && one(aws_apigatewayv2_domain_name.this[0].domain_name_configuration).security_policy == "TLS_1_2"
    error_message = "The URL must be the domain's."
  }

  assert {
    condition     = aws_acm_certificate.this[0].domain_name == "api.example.com" && toset(keys(aws_route53_record.this)) == toset(["A", "AAAA"])
    error_message = "The certificate and the records must be those of the domain."
  }
}
