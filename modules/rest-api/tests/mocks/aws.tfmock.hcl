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
