# Values that the rest of the module hands on, where a made-up word would not do.

mock_resource "aws_cloudfront_distribution" {
  defaults = {
    arn         = "arn:aws:cloudfront::123456789012:distribution/EMOCKED"
    id          = "EMOCKED"
    domain_name = "mocked.cloudfront.net"
  }
}

mock_data "aws_partition" {
  defaults = {
    partition = "aws"
  }
}
