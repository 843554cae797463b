locals {
  name      = "${var.name_prefix}-cdn-api"
  origin_id = "api"

  # Answers name the one origin that may read them, so a kept one must not go to another.
  names_origin = contains([for header in var.forwarded_headers : lower(header)], "origin")
  key_headers  = concat(var.forwarded_headers, local.names_origin ? [] : ["Origin"])

  has_buckets = length(var.bucket_origins) > 0

  # Patterns of the same length cannot both match, unless one has a wildcard where the other has a letter.
  bucket_patterns = reverse([for entry in sort([for pattern in keys(var.bucket_origins) : format("%04d%s", length(pattern), pattern)]) : substr(entry, 4, -1)])

  # CloudFront writes this header itself; what a viewer sends under its name does not arrive.
  viewer_address_header = "CloudFront-Viewer-Address"

  # Neither path nor query, Referer and cookies: they may hold a secret, such as the
  # token of a password reset. The pattern of the behaviour stands for the path.
  access_log_fields = [
    "date",
    "time",
    "x-edge-request-id",
    "x-edge-location",
    "c-ip",
    "cs-method",
    "x-host-header",
    "cache-behavior-path-pattern",
    "cs-protocol",
    "cs-protocol-version",
    "ssl-protocol",
    "sc-status",
    "sc-bytes",
    "cs-bytes",
    "time-taken",
    "time-to-first-byte",
    "x-edge-result-type",
    "x-edge-detailed-result-type",
    "cs(User-Agent)",
  ]
}

data "aws_partition" "current" {}

# The cache key. The origin gets all of it; Authorization can be forwarded in no
# other way that also leaves other headers out. The times make sure that nothing
# is kept unless the response asks for it.
resource "aws_cloudfront_cache_policy" "this" {
  name        = local.name
  comment     = "Forwards ${length(local.key_headers)} headers, all cookies and the query; keeps only what says so."
  min_ttl     = 0
  default_ttl = 0
  max_ttl     = var.cache_max_seconds

  parameters_in_cache_key_and_forwarded_to_origin {
    enable_accept_encoding_brotli = true
    enable_accept_encoding_gzip   = true

    headers_config {
      header_behavior = "whitelist"

      headers {
        items = local.key_headers
      }
    }

    cookies_config {
      cookie_behavior = "all"
    }

    query_strings_config {
      query_string_behavior = "all"
    }
  }
}

# What the origin gets besides: headers by which it tells cross-site requests, and
# the viewer's address.
resource "aws_cloudfront_origin_request_policy" "this" {
  name    = "${local.name}-origin"
  comment = "Forwards ${length(var.origin_headers)} headers of the viewer, and its address."

  headers_config {
    header_behavior = "whitelist"

    headers {
      items = concat(var.origin_headers, [local.viewer_address_header])
    }
  }

  cookies_config {
    cookie_behavior = "all"
  }

  query_strings_config {
    query_string_behavior = "all"
  }
}

resource "aws_cloudfront_response_headers_policy" "this" {
  count = var.enable_security_headers ? 1 : 0

  name    = "${local.name}-security"
  comment = "Security headers for ${local.name}."

  security_headers_config {
    strict_transport_security {
      access_control_max_age_sec = 63072000
      include_subdomains         = true
      override                   = true
    }

    content_type_options {
      override = true
    }

    frame_options {
      frame_option = "DENY"
      override     = true
    }

    referrer_policy {
      referrer_policy = "no-referrer"
      override        = true
    }

    content_security_policy {
      content_security_policy = "default-src 'none'; frame-ancestors 'none'"
      override                = false
    }
  }
}

# Policies of CloudFront's own, by name: their ids are the same everywhere.
data "aws_cloudfront_cache_policy" "optimized" {
  count = local.has_buckets ? 1 : 0

  name = "Managed-CachingOptimized"
}

data "aws_cloudfront_response_headers_policy" "security" {
  count = local.has_buckets ? 1 : 0

  name = "Managed-SecurityHeadersPolicy"
}

resource "aws_cloudfront_origin_access_control" "buckets" {
  count = local.has_buckets ? 1 : 0

  name                              = "${local.name}-buckets"
  description                       = "Lets ${local.name} read its buckets."
  origin_access_control_origin_type = "s3"
  signing_behavior                  = "always"
  signing_protocol                  = "sigv4"
}

resource "aws_cloudfront_distribution" "this" {
  comment         = "API of ${var.name_prefix}."
  enabled         = true
  is_ipv6_enabled = true
  http_version    = "http2and3"
  price_class     = var.price_class
  aliases         = var.aliases
  web_acl_id      = var.web_acl_arn
  tags            = var.tags

  origin {
    origin_id   = local.origin_id
    domain_name = var.origin_domain
    origin_path = var.origin_path

    custom_origin_config {
      http_port              = 80
      https_port             = 443
      origin_protocol_policy = "https-only"
      origin_ssl_protocols   = ["TLSv1.2"]
      origin_read_timeout    = 30
    }

    dynamic "custom_header" {
      # Only whether there is a secret decides, so this much may be shown.
      for_each = nonsensitive(var.origin_secret != null) ? [var.origin_secret_header] : []

      content {
        name  = custom_header.value
        value = var.origin_secret
      }
    }
  }

  dynamic "origin" {
    for_each = var.bucket_origins

    content {
      origin_id                = origin.key
      domain_name              = origin.value
      origin_access_control_id = aws_cloudfront_origin_access_control.buckets[0].id
    }
  }

  # The longest pattern first: CloudFront takes the first that matches.
  dynamic "ordered_cache_behavior" {
    for_each = local.bucket_patterns

    content {
      path_pattern               = ordered_cache_behavior.value
      target_origin_id           = ordered_cache_behavior.value
      viewer_protocol_policy     = "redirect-to-https"
      allowed_methods            = ["GET", "HEAD", "OPTIONS"]
      cached_methods             = ["GET", "HEAD"]
      compress                   = true
      cache_policy_id            = data.aws_cloudfront_cache_policy.optimized[0].id
      response_headers_policy_id = data.aws_cloudfront_response_headers_policy.security[0].id
    }
  }

  default_cache_behavior {
    target_origin_id           = local.origin_id
    viewer_protocol_policy     = "https-only" # A redirect would have sent the token in the clear already.
    allowed_methods            = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]
    cached_methods             = ["GET", "HEAD"]
    compress                   = true
    cache_policy_id            = aws_cloudfront_cache_policy.this.id
    origin_request_policy_id   = aws_cloudfront_origin_request_policy.this.id
    response_headers_policy_id = one(aws_cloudfront_response_headers_policy.this[*].id)

    dynamic "lambda_function_association" {
      for_each = var.lambda_edge_associations

      content {
        event_type   = lambda_function_association.value.event_type
        lambda_arn   = lambda_function_association.value.lambda_arn
        include_body = lambda_function_association.value.include_body
      }
    }
  }

  restrictions {
    geo_restriction {
      restriction_type = var.geo_restriction_type
      locations        = var.geo_restriction_locations
    }
  }

  viewer_certificate {
    cloudfront_default_certificate = var.certificate_arn == null ? true : null
    acm_certificate_arn            = var.certificate_arn
    ssl_support_method             = var.certificate_arn == null ? null : "sni-only"
    minimum_protocol_version       = var.certificate_arn == null ? null : "TLSv1.2_2021"
  }
}

# The log of CloudFront's own (`logging_config`) has the whole path and query; this one
# has only the fields above. Its resources exist in us-east-1 only.
resource "aws_cloudwatch_log_delivery_source" "access" {
  count = var.access_log_bucket_domain_name == null ? 0 : 1

  region       = "us-east-1"
  name         = local.name
  log_type     = "ACCESS_LOGS"
  resource_arn = aws_cloudfront_distribution.this.arn
  tags         = var.tags
}

resource "aws_cloudwatch_log_delivery_destination" "access" {
  count = var.access_log_bucket_domain_name == null ? 0 : 1

  region        = "us-east-1"
  name          = local.name
  output_format = "json"
  tags          = var.tags

  delivery_destination_configuration {
    destination_resource_arn = "arn:${data.aws_partition.current.partition}:s3:::${replace(var.access_log_bucket_domain_name, "/\\.s3[.-].*$/", "")}/${local.name}"
  }
}

resource "aws_cloudwatch_log_delivery" "access" {
  count = var.access_log_bucket_domain_name == null ? 0 : 1

  region                   = "us-east-1"
  delivery_source_name     = aws_cloudwatch_log_delivery_source.access[0].name
  delivery_destination_arn = aws_cloudwatch_log_delivery_destination.access[0].arn
  record_fields            = local.access_log_fields
  tags                     = var.tags
}
