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
