# Values that the rest of the module hands on, where a made-up word would not do.

mock_resource "aws_iam_policy" {
  defaults = {
    arn = "arn:aws:iam::123456789012:policy/mocked"
  }
}

mock_resource "aws_dsql_cluster" {
  defaults = {
    arn        = "arn:aws:dsql:eu-central-1:123456789012:cluster/abcdefghijklmnopqrstuvwxyz"
    identifier = "abcdefghijklmnopqrstuvwxyz"
  }
}

mock_data "aws_region" {
  defaults = {
    region = "eu-central-1"
  }
}
