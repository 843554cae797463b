# Values that the rest of the module hands on, where a made-up word would not do.

mock_resource "aws_sqs_queue" {
  defaults = {
    arn = "arn:aws:sqs:eu-central-1:123456789012:mocked"
    url = "https://sqs.eu-central-1.amazonaws.com/123456789012/mocked"
  }
}

mock_resource "aws_cloudwatch_event_bus" {
  defaults = {
    arn = "arn:aws:events:eu-central-1:123456789012:event-bus/mocked"
  }
}

mock_resource "aws_cloudwatch_event_archive" {
  defaults = {
    arn = "arn:aws:events:eu-central-1:123456789012:archive/mocked"
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
