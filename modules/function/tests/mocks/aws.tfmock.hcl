# Values that the rest of the module hands on, where a made-up word would not do.

mock_resource "aws_iam_role" {
  defaults = {
    arn = "arn:aws:iam::123456789012:role/mocked"
  }
}

mock_resource "aws_lambda_function" {
  defaults = {
    arn           = "arn:aws:lambda:eu-central-1:123456789012:function:mocked"
    qualified_arn = "arn:aws:lambda:eu-central-1:123456789012:function:mocked:1"
  }
}

mock_resource "aws_cloudwatch_log_group" {
  defaults = {
    arn = "arn:aws:logs:eu-central-1:123456789012:log-group:mocked"
  }
}

mock_data "aws_partition" {
  defaults = {
    partition  = "aws"
    dns_suffix = "amazonaws.com"
  }
}
