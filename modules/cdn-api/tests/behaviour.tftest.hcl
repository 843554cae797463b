# What is made, what it is called, and what reaches the origin.

mock_provider "aws" {
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
}

variables {
  origin_domain = "abc123.execute-api.eu-central-1.amazonaws.com"
  name_prefix   = "notes-dev"
  tags          = { Project = "notes" }
}

run "defaults" {
  assert {
    condition     = aws_cloudfront_distribution.this.tags == tomap({ Project = "notes" }) && aws_cloudfront_cache_policy.this.name == "notes-dev-cdn-api"
    error_message = "The CDN must carry prefix and tags."
  }

  assert {
    condition     = one(aws_cloudfront_distribution.this.default_cache_behavior).viewer_protocol_policy == "https-only" && one(one(aws_cloudfront_distribution.this.origin).custom_origin_config).origin_protocol_policy == "https-only" && one(one(aws_cloudfront_distribution.this.origin).custom_origin_config).origin_ssl_protocols == toset(["TLSv1.2"])
    error_message = "Viewers and origin must be reached by HTTPS only."
  }

  assert {
    condition     = one(one(one(aws_cloudfront_cache_policy.this.parameters_in_cache_key_and_forwarded_to_origin).headers_config).headers).items == toset(["Authorization", "X-Api-Key", "Origin"])
    error_message = "Authorization, X-Api-Key and Origin, and no other header, must be in the cache key."
  }

  assert {
    condition     = one(one(aws_cloudfront_origin_request_policy.this.headers_config).headers).items == toset(["Access-Control-Request-Headers", "Access-Control-Request-Method", "Referer", "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site", "CloudFront-Viewer-Address"])
    error_message = "The origin must get what origin checks and preflights need, and the viewer's address."
  }

  assert {
    condition     = one(aws_cloudfront_distribution.this.default_cache_behavior).origin_request_policy_id == aws_cloudfront_origin_request_policy.this.id && aws_cloudfront_origin_request_policy.this.name == "notes-dev-cdn-api-origin"
    error_message = "The distribution must use the origin request policy."
  }

  assert {
    condition     = one(one(aws_cloudfront_cache_policy.this.parameters_in_cache_key_and_forwarded_to_origin).cookies_config).cookie_behavior == "all" && one(aws_cloudfront_origin_request_policy.this.cookies_config).cookie_behavior == "all"
    error_message = "All cookies must be in the cache key and reach the origin."
  }

  assert {
    condition     = aws_cloudfront_cache_policy.this.default_ttl == 0 && aws_cloudfront_cache_policy.this.min_ttl == 0 && aws_cloudfront_cache_policy.this.max_ttl == 1
    error_message = "Nothing must be kept that does not ask for it."
  }

  assert {
    condition     = aws_cloudfront_distribution.this.price_class == "PriceClass_100" && one(one(aws_cloudfront_distribution.this.restrictions).geo_restriction).restriction_type == "none"
    error_message = "The defaults must be those of the interface."
  }

  assert {
    condition     = one(one(aws_cloudfront_response_headers_policy.this[0].security_headers_config).strict_transport_security).access_control_max_age_sec >= 31536000 && one(one(aws_cloudfront_response_headers_policy.this[0].security_headers_config).frame_options).frame_option == "DENY"
    error_message = "Responses must carry security headers."
  }

  assert {
    condition     = length(one(aws_cloudfront_distribution.this.origin).custom_header) == 0 && length(aws_cloudfront_distribution.this.logging_config) == 0 && length(one(aws_cloudfront_distribution.this.default_cache_behavior).lambda_function_association) == 0
    error_message = "There must be no secret, log or edge function by default."
  }

  assert {
    condition     = output.distribution_domain_name == "mocked.cloudfront.net" && output.distribution_id == "EMOCKED"
    error_message = "The outputs must be those of the distribution."
  }
}

run "no_headers" {
  command = plan

  variables {
    forwarded_headers = []
  }

  assert {
    condition     = one(one(one(aws_cloudfront_cache_policy.this.parameters_in_cache_key_and_forwarded_to_origin).headers_config).headers).items == toset(["Origin"])
    error_message = "Origin must be in the cache key, whatever else is."
  }
}

run "origin_named" {
  command = plan

  variables {
    forwarded_headers = ["origin", "X-Api-Key"]
    origin_headers    = []
  }

  assert {
    condition     = one(one(one(aws_cloudfront_cache_policy.this.parameters_in_cache_key_and_forwarded_to_origin).headers_config).headers).items == toset(["origin", "X-Api-Key"])
    error_message = "Origin must not be in the cache key twice."
  }

  assert {
    condition     = one(one(aws_cloudfront_origin_request_policy.this.headers_config).headers).items == toset(["CloudFront-Viewer-Address"])
    error_message = "The viewer's address must reach the origin, whatever else does."
  }
}

run "without_security_headers" {
  command = plan

  variables {
    enable_security_headers = false
  }

  assert {
    condition     = length(aws_cloudfront_response_headers_policy.this) == 0
    error_message = "The switch must take the headers away."
  }
}

run "everything" {
  command = plan

  variables {
    origin_path                   = "/live"
    origin_secret                 = "0123456789abcdef"
    aliases                       = ["api.example.com"]
    certificate_arn               = "arn:aws:acm:us-east-1:123456789012:certificate/1"
    geo_restriction_type          = "whitelist"
    geo_restriction_locations     = ["DE"]
    access_log_bucket_domain_name = "logs.s3.amazonaws.com"
    lambda_edge_associations      = [{ event_type = "viewer-request", lambda_arn = "arn:aws:lambda:us-east-1:123456789012:function:f:1" }]
  }

  assert {
    condition     = one(aws_cloudfront_distribution.this.origin).origin_path == "/live" && nonsensitive(one(one(aws_cloudfront_distribution.this.origin).custom_header).name) == "X-Origin-Verify"
    error_message = "The origin must get path and secret."
  }

  assert {
    condition     = one(aws_cloudfront_distribution.this.viewer_certificate).minimum_protocol_version == "TLSv1.2_2021" && one(one(aws_cloudfront_distribution.this.restrictions).geo_restriction).locations == toset(["DE"])
    error_message = "A name of one's own must need TLS 1.2, and only the countries given be served."
  }

  assert {
    condition     = one(one(aws_cloudfront_distribution.this.default_cache_behavior).lambda_function_association).event_type == "viewer-request"
    error_message = "The edge function must be there."
  }

  assert {
    condition     = one(aws_cloudwatch_log_delivery_destination.access[0].delivery_destination_configuration).destination_resource_arn == "arn:aws:s3:::logs/notes-dev-cdn-api" && length(aws_cloudfront_distribution.this.logging_config) == 0
    error_message = "The log must go to the bucket."
  }

  assert {
    condition     = length(setintersection(aws_cloudwatch_log_delivery.access[0].record_fields, ["cs-uri-stem", "cs-uri-query", "cs(Referer)", "cs(Cookie)", "x-forwarded-for"])) == 0 && contains(aws_cloudwatch_log_delivery.access[0].record_fields, "sc-status")
    error_message = "The log must have no path, query, page or cookie: they may hold secrets."
  }
}

run "buckets" {
  variables {
    bucket_origins = {
      "/assets/*"        = "notes-dev-site.s3.eu-central-1.amazonaws.com"
      "/assets/photos/*" = "notes-dev-photos.s3.eu-central-1.amazonaws.com"
    }
  }

  assert {
    condition     = aws_cloudfront_distribution.this.ordered_cache_behavior[*].path_pattern == tolist(["/assets/photos/*", "/assets/*"])
    error_message = "The longest pattern must come first, with its own bucket."
  }

  assert {
    condition     = tomap({ for origin in aws_cloudfront_distribution.this.origin : origin.origin_id => origin.domain_name if origin.origin_id != "api" }) == tomap(var.bucket_origins) && aws_cloudfront_origin_access_control.buckets[0].signing_behavior == "always"
    error_message = "Requests to the buckets must be signed."
  }
}
