data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

# Policies of CloudFront's own, by name: their ids are the same everywhere, but
# nobody should have to know them.
data "aws_cloudfront_cache_policy" "optimized" {
  count = var.cloudfront_enabled ? 1 : 0

  name = "Managed-CachingOptimized"
}

data "aws_cloudfront_response_headers_policy" "security" {
  count = var.cloudfront_enabled ? 1 : 0

  name = "Managed-SecurityHeadersPolicy"
}

locals {
  name       = join("-", compact([var.project_name, var.name_prefix, var.bucket_name]))
  bucket_arn = "arn:${data.aws_partition.current.partition}:s3:::${aws_s3_bucket.this.bucket}"
  origin_id  = "bucket"

  deny_statements = [
    {
      Sid       = "DenyPlainHttp"
      Effect    = "Deny"
      Principal = "*"    # policy: a refusal must hold for everybody.
      Action    = "s3:*" # policy: a refusal must hold for every action.
      Resource  = [local.bucket_arn, "${local.bucket_arn}/*"]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    },
    {
      Sid       = "DenyOldTls"
      Effect    = "Deny"
      Principal = "*"    # policy: a refusal must hold for everybody.
      Action    = "s3:*" # policy: a refusal must hold for every action.
      Resource  = [local.bucket_arn, "${local.bucket_arn}/*"]
      Condition = { NumericLessThan = { "s3:TlsVersion" = "1.2" } }
    },
  ]

  cdn_statements = [for index, arn in concat(aws_cloudfront_distribution.this[*].arn, var.reader_distribution_arns) : {
    Sid       = index == 0 ? "AllowCdn" : "AllowCdn${index}"
    Effect    = "Allow"
    Principal = { Service = "cloudfront.amazonaws.com" }
    Action    = "s3:GetObject"
    Resource  = "${local.bucket_arn}/*"
    Condition = { StringEquals = { "aws:SourceArn" = arn } }
  }]
}

resource "aws_s3_bucket" "this" {
  bucket        = local.name
  force_destroy = var.force_destroy
  tags          = var.tags
}

resource "aws_s3_bucket_public_access_block" "this" {
  bucket = aws_s3_bucket.this.id

  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "this" {
  bucket = aws_s3_bucket.this.id

  # Access lists are off: policies alone decide.
  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    bucket_key_enabled = var.kms_key_arn == null ? null : true

    apply_server_side_encryption_by_default {
      sse_algorithm     = var.kms_key_arn == null ? "AES256" : "aws:kms"
      kms_master_key_id = var.kms_key_arn
    }
  }
}

resource "aws_s3_bucket_versioning" "this" {
  bucket = aws_s3_bucket.this.id

  versioning_configuration {
    status = var.versioning_enabled ? "Enabled" : "Suspended"
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    id     = "abort-incomplete-uploads"
    status = "Enabled"

    filter {
      prefix = ""
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = 7
    }
  }

  dynamic "rule" {
    for_each = var.versioning_enabled ? [var.noncurrent_version_days] : []

    content {
      id     = "expire-noncurrent-versions"
      status = "Enabled"

      filter {
        prefix = ""
      }

      noncurrent_version_expiration {
        noncurrent_days = rule.value
      }
    }
  }

  dynamic "rule" {
    for_each = var.expiration_days == null ? [] : [var.expiration_days]

    content {
      id     = "expire-objects"
      status = "Enabled"

      filter {
        prefix = ""
      }

      expiration {
        days = rule.value
      }
    }
  }

  dynamic "rule" {
    for_each = var.intelligent_tiering_enabled ? ["INTELLIGENT_TIERING"] : []

    content {
      id     = "intelligent-tiering"
      status = "Enabled"

      filter {
        prefix = ""
      }

      transition {
        days          = 0
        storage_class = rule.value
      }
    }
  }

  # Rules for old versions are refused where there are none yet.
  depends_on = [aws_s3_bucket_versioning.this]
}

resource "aws_s3_bucket_accelerate_configuration" "this" {
  count = var.transfer_acceleration_enabled ? 1 : 0

  bucket = aws_s3_bucket.this.id
  status = "Enabled"
}

resource "aws_s3_bucket_cors_configuration" "this" {
  count = length(var.cors_allowed_origins) > 0 ? 1 : 0

  bucket = aws_s3_bucket.this.id

  cors_rule {
    allowed_headers = ["*"] # policy: only which headers a page may send; what it may do is up to the signed URL.
    allowed_methods = var.cors_allowed_methods
    allowed_origins = var.cors_allowed_origins
    expose_headers  = ["ETag"]
    max_age_seconds = 3600
  }
}

resource "aws_s3_bucket_logging" "this" {
  count = var.access_log_bucket == null ? 0 : 1

  bucket        = aws_s3_bucket.this.id
  target_bucket = var.access_log_bucket
  target_prefix = "${local.name}/"
}

# The one policy of the bucket: a second resource would overwrite it.
resource "aws_s3_bucket_policy" "this" {
  bucket = aws_s3_bucket.this.id

  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = concat(local.deny_statements, local.cdn_statements)
  })

  # S3 refuses two changes of a bucket's access at the same time.
  depends_on = [aws_s3_bucket_public_access_block.this]
}

# By number, not by ARN: the ARNs may be known only after apply.
resource "aws_lambda_permission" "notification" {
  count = length(var.lambda_notifications)

  statement_id   = "AllowBucket-${substr(sha1(local.name), 0, 8)}-${count.index}"
  action         = "lambda:InvokeFunction"
  function_name  = var.lambda_notifications[count.index].function_arn
  principal      = "s3.amazonaws.com"
  source_arn     = local.bucket_arn
  source_account = data.aws_caller_identity.current.account_id
}

# The one set of notifications of the bucket: a second resource would overwrite it.
resource "aws_s3_bucket_notification" "this" {
  count = var.eventbridge_notifications_enabled || length(var.lambda_notifications) > 0 ? 1 : 0

  bucket      = aws_s3_bucket.this.id
  eventbridge = var.eventbridge_notifications_enabled

  dynamic "lambda_function" {
    for_each = var.lambda_notifications

    content {
      lambda_function_arn = lambda_function.value.function_arn
      events              = lambda_function.value.events
      filter_prefix       = lambda_function.value.filter_prefix
      filter_suffix       = lambda_function.value.filter_suffix
    }
  }

  # S3 tries each function when it is entered.
  depends_on = [aws_lambda_permission.notification]
}

resource "aws_cloudfront_origin_access_control" "this" {
  count = var.cloudfront_enabled ? 1 : 0

  name                              = local.name
  description                       = "Lets CloudFront read the bucket ${local.name}."
  origin_access_control_origin_type = "s3"
  signing_behavior                  = "always"
  signing_protocol                  = "sigv4"
}

resource "aws_cloudfront_distribution" "this" {
  count = var.cloudfront_enabled ? 1 : 0

  comment             = "Objects of ${local.name}."
  enabled             = true
  is_ipv6_enabled     = true
  http_version        = "http2and3"
  price_class         = var.cloudfront_price_class
  default_root_object = var.cloudfront_default_root_object
  aliases             = var.cloudfront_aliases
  web_acl_id          = var.web_acl_arn
  tags                = var.tags

  origin {
    origin_id                = local.origin_id
    domain_name              = aws_s3_bucket.this.bucket_regional_domain_name
    origin_access_control_id = aws_cloudfront_origin_access_control.this[0].id
  }

  default_cache_behavior {
    target_origin_id           = local.origin_id
    viewer_protocol_policy     = "redirect-to-https"
    allowed_methods            = ["GET", "HEAD", "OPTIONS"]
    cached_methods             = ["GET", "HEAD"]
    compress                   = true
    cache_policy_id            = data.aws_cloudfront_cache_policy.optimized[0].id
    response_headers_policy_id = data.aws_cloudfront_response_headers_policy.security[0].id
  }

  restrictions {
    geo_restriction {
      restriction_type = "none"
    }
  }

  viewer_certificate {
    cloudfront_default_certificate = var.cloudfront_certificate_arn == null ? true : null
    acm_certificate_arn            = var.cloudfront_certificate_arn
    ssl_support_method             = var.cloudfront_certificate_arn == null ? null : "sni-only"
    minimum_protocol_version       = var.cloudfront_certificate_arn == null ? null : "TLSv1.2_2021"
  }
}
