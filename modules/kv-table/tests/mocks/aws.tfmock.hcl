# Values that the rest of the module hands on, where a made-up word would not do.

mock_resource "aws_dynamodb_table" {
  defaults = {
    arn        = "arn:aws:dynamodb:eu-central-1:123456789012:table/mocked"
    stream_arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/mocked/stream/2030-01-01T00:00:00.000"
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
