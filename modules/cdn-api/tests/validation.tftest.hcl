# Every rule of variables.tf refuses a value that breaks it.

mock_provider "aws" {}

variables {
  origin_domain = "abc123.execute-api.eu-central-1.amazonaws.com"
  name_prefix   = "notes-dev"
}

run "accepts_the_base" {
  command = plan
}

run "origin_domain_url" {
  command = plan

  variables {
    origin_domain = "https://abc123.execute-api.eu-central-1.amazonaws.com/live"
  }

  expect_failures = [var.origin_domain]
}

run "name_prefix_underscore" {
  command = plan

  variables {
    name_prefix = "notes_dev"
  }

  expect_failures = [var.name_prefix]
}

run "origin_path_no_slash" {
  command = plan

  variables {
    origin_path = "live"
  }

  expect_failures = [var.origin_path]
}

run "origin_secret_too_short" {
  command = plan

  variables {
    origin_secret = "secret"
  }

  expect_failures = [var.origin_secret]
}

run "origin_secret_comma" {
  command = plan

  variables {
    origin_secret = "0123456789,abcdef"
  }

  expect_failures = [var.origin_secret]
}

run "origin_secret_header_name" {
  command = plan

  variables {
    origin_secret_header = "X Origin"
  }

  expect_failures = [var.origin_secret_header]
}

run "origin_secret_header_forwarded" {
  command = plan

  variables {
    origin_headers = ["x-origin-verify"]
  }

  expect_failures = [var.origin_secret_header]
}

run "origin_headers_host" {
  command = plan

  variables {
    origin_headers = ["host"]
  }

  expect_failures = [var.origin_headers]
}

run "origin_headers_too_many" {
  command = plan

  variables {
    origin_headers = [for n in range(10) : "X-${n}"]
  }

  expect_failures = [var.origin_headers]
}

run "origin_headers_wildcard" {
  command = plan

  variables {
    origin_headers = ["Sec-Fetch-*"]
  }

  expect_failures = [var.origin_headers]
}

run "forwarded_headers_host" {
  command = plan

  variables {
    forwarded_headers = ["HOST"]
  }

  expect_failures = [var.forwarded_headers]
}

run "forwarded_headers_too_many" {
  command = plan

  variables {
    forwarded_headers = [for n in range(10) : "X-${n}"]
  }

  expect_failures = [var.forwarded_headers]
}

run "forwarded_headers_wildcard" {
  command = plan

  variables {
    forwarded_headers = ["*"]
  }

  expect_failures = [var.forwarded_headers]
}

run "cache_max_seconds_zero" {
  command = plan

  variables {
    cache_max_seconds = 0
  }

  expect_failures = [var.cache_max_seconds]
}

run "lambda_edge_associations_unknown_event" {
  command = plan

  variables {
    lambda_edge_associations = [{ event_type = "request", lambda_arn = "arn:aws:lambda:us-east-1:123456789012:function:f:1" }]
  }

  expect_failures = [var.lambda_edge_associations]
}

run "lambda_edge_associations_twice" {
  command = plan

  variables {
    lambda_edge_associations = [for n in [1, 2] : { event_type = "viewer-request", lambda_arn = "arn:aws:lambda:us-east-1:123456789012:function:f:1" }]
  }

  expect_failures = [var.lambda_edge_associations]
}

run "lambda_edge_associations_without_version" {
  command = plan

  variables {
    lambda_edge_associations = [{ event_type = "viewer-request", lambda_arn = "arn:aws:lambda:us-east-1:123456789012:function:f" }]
  }

  expect_failures = [var.lambda_edge_associations]
}

run "lambda_edge_associations_body_of_response" {
  command = plan

  variables {
    lambda_edge_associations = [{ event_type = "viewer-response", lambda_arn = "arn:aws:lambda:us-east-1:123456789012:function:f:1", include_body = true }]
  }

  expect_failures = [var.lambda_edge_associations]
}

run "price_class_unknown" {
  command = plan

  variables {
    price_class = "PriceClass_300"
  }

  expect_failures = [var.price_class]
}

run "geo_restriction_type_unknown" {
  command = plan

  variables {
    geo_restriction_type      = "allow"
    geo_restriction_locations = ["DE"]
  }

  expect_failures = [var.geo_restriction_type]
}

run "geo_restriction_locations_lower_case" {
  command = plan

  variables {
    geo_restriction_type      = "whitelist"
    geo_restriction_locations = ["de"]
  }

  expect_failures = [var.geo_restriction_locations]
}

run "geo_restriction_locations_none_named" {
  command = plan

  variables {
    geo_restriction_type = "whitelist"
  }

  expect_failures = [var.geo_restriction_locations]
}

run "aliases_without_certificate" {
  command = plan

  variables {
    aliases = ["api.example.com"]
  }

  expect_failures = [var.aliases]
}

run "certificate_arn_other_region" {
  command = plan

  variables {
    aliases         = ["api.example.com"]
    certificate_arn = "arn:aws:acm:eu-central-1:123456789012:certificate/1"
  }

  expect_failures = [var.certificate_arn]
}

run "bucket_origins_hide_the_api" {
  command = plan

  variables {
    bucket_origins = { "/*" = "notes-dev-site.s3.eu-central-1.amazonaws.com" }
  }

  expect_failures = [var.bucket_origins]
}

run "bucket_origins_name" {
  command = plan

  variables {
    bucket_origins = { "/assets/*" = "notes-dev-site" }
  }

  expect_failures = [var.bucket_origins]
}

run "access_log_bucket_without_its_host" {
  command = plan

  variables {
    access_log_bucket_domain_name = "logs"
  }

  expect_failures = [var.access_log_bucket_domain_name]
}
