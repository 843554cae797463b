# What is made, what it is called, and what the policies allow.

mock_provider "aws" {
  # Values that the rest of the module hands on, where a made-up word would not do.

  mock_resource "aws_s3_bucket" {
    defaults = {
      arn = "arn:aws:s3:::mocked"
    }
  }

  mock_resource "aws_cloudfront_distribution" {
    defaults = {
      arn         = "arn:aws:cloudfront::123456789012:distribution/EMOCKED"
      id          = "EMOCKED"
      domain_name = "mocked.cloudfront.net"
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
}

variables {
  bucket_name = "files"
  name_prefix = "notes-dev"
  tags        = { Project = "notes" }
}

run "defaults" {
  assert {
    condition     = aws_s3_bucket.this.bucket == "notes-dev-files" && output.bucket_arn == "arn:aws:s3:::notes-dev-files"
    error_message = "The bucket must be called by prefix and short name."
  }

  assert {
    condition     = aws_s3_bucket.this.tags == tomap({ Project = "notes" }) && !aws_s3_bucket.this.force_destroy
    error_message = "The bucket must carry the tags, and not be destroyed with its objects."
  }

  assert {
    condition     = aws_s3_bucket_public_access_block.this.block_public_acls && aws_s3_bucket_public_access_block.this.block_public_policy && aws_s3_bucket_public_access_block.this.ignore_public_acls && aws_s3_bucket_public_access_block.this.restrict_public_buckets
    error_message = "Nothing may be public."
  }

  assert {
    condition     = one(aws_s3_bucket_ownership_controls.this.rule).object_ownership == "BucketOwnerEnforced"
    error_message = "Access lists must be off."
  }

  assert {
    condition     = one(one(aws_s3_bucket_server_side_encryption_configuration.this.rule).apply_server_side_encryption_by_default).sse_algorithm == "AES256" && one(aws_s3_bucket_versioning.this.versioning_configuration).status == "Enabled"
    error_message = "Objects must be encrypted and versioned."
  }

  assert {
    condition     = aws_s3_bucket_lifecycle_configuration.this.rule[*].id == tolist(["abort-incomplete-uploads", "expire-noncurrent-versions"])
    error_message = "Uploads that never ended and old versions must go."
  }

  assert {
    condition     = length(aws_cloudfront_distribution.this) == 0 && length(aws_s3_bucket_notification.this) == 0 && length(aws_s3_bucket_cors_configuration.this) == 0 && length(aws_s3_bucket_accelerate_configuration.this) == 0 && length(aws_s3_bucket_logging.this) == 0 && length(aws_lambda_permission.notification) == 0
    error_message = "There must be nothing else by default."
  }

  assert {
    condition     = output.cloudfront_domain_name == "" && output.cloudfront_distribution_id == "" && output.cloudfront_distribution_arn == ""
    error_message = "The outputs of the CDN must be empty without one."
  }
}

run "policy_refuses_and_allows_nobody" {
  assert {
    condition     = [for statement in jsondecode(aws_s3_bucket_policy.this.policy).Statement : [statement.Effect, statement.Sid]] == [["Deny", "DenyPlainHttp"], ["Deny", "DenyOldTls"]]
    error_message = "Plain HTTP and old TLS must be refused, and nothing allowed."
  }

  assert {
    condition     = alltrue([for statement in jsondecode(aws_s3_bucket_policy.this.policy).Statement : statement.Resource == [output.bucket_arn, "${output.bucket_arn}/*"]])
    error_message = "The refusals must hold for bucket and objects."
  }

  assert {
    condition     = alltrue(flatten([for policy in [output.read_policy_json, output.read_write_policy_json] : [for statement in jsondecode(policy).Statement : startswith(statement.Resource, output.bucket_arn) && alltrue([for action in flatten([statement.Action]) : !strcontains(action, "*")])]]))
    error_message = "The policies must name actions, and this bucket only."
  }
}

run "a_name_unique_in_the_world" {
  command = plan

  variables {
    project_name = "example"
  }

  assert {
    condition     = aws_s3_bucket.this.bucket == "example-notes-dev-files"
    error_message = "project_name must come first."
  }
}

run "cdn" {
  variables {
    cloudfront_enabled = true
  }

  assert {
    condition = jsondecode(aws_s3_bucket_policy.this.policy).Statement[2] == {
      Sid       = "AllowCdn"
      Effect    = "Allow"
      Principal = { Service = "cloudfront.amazonaws.com" }
      Action    = "s3:GetObject"
      Resource  = "${output.bucket_arn}/*"
      Condition = { StringEquals = { "aws:SourceArn" = output.cloudfront_distribution_arn } }
    }
    error_message = "Only this distribution may read."
  }

  assert {
    condition     = aws_cloudfront_origin_access_control.this[0].signing_behavior == "always" && one(aws_cloudfront_distribution.this[0].origin).origin_access_control_id == aws_cloudfront_origin_access_control.this[0].id && one(aws_cloudfront_distribution.this[0].default_cache_behavior).viewer_protocol_policy == "redirect-to-https"
    error_message = "CloudFront must sign its requests, and viewers must use HTTPS."
  }

  assert {
    condition     = output.cloudfront_domain_name == "mocked.cloudfront.net" && aws_cloudfront_distribution.this[0].tags == tomap({ Project = "notes" })
    error_message = "The host name must be handed out, and the CDN carry the tags."
  }
}

run "cdn_with_a_name" {
  command = plan

  variables {
    cloudfront_enabled         = true
    cloudfront_aliases         = ["files.example.com"]
    cloudfront_certificate_arn = "arn:aws:acm:us-east-1:123456789012:certificate/1"
  }

  assert {
    condition     = one(aws_cloudfront_distribution.this[0].viewer_certificate).minimum_protocol_version == "TLSv1.2_2021" && aws_cloudfront_distribution.this[0].aliases == toset(["files.example.com"])
    error_message = "A name of one's own must need TLS 1.2."
  }
}

run "notifications" {
  variables {
    eventbridge_notifications_enabled = true
    lambda_notifications = [
      { function_arn = "arn:aws:lambda:eu-central-1:123456789012:function:a", filter_prefix = "in/", filter_suffix = ".png" },
      { function_arn = "arn:aws:lambda:eu-central-1:123456789012:function:b", events = ["s3:ObjectRemoved:*"] },
    ]
  }

  assert {
    condition     = aws_s3_bucket_notification.this[0].eventbridge && aws_s3_bucket_notification.this[0].lambda_function[0].filter_prefix == "in/" && aws_s3_bucket_notification.this[0].lambda_function[1].events == toset(["s3:ObjectRemoved:*"])
    error_message = "Bus and functions must hear of what happens."
  }

  assert {
    condition     = alltrue([for permission in aws_lambda_permission.notification : permission.principal == "s3.amazonaws.com" && permission.source_arn == output.bucket_arn && permission.source_account == "123456789012"]) && length(aws_lambda_permission.notification) == 2
    error_message = "Only this bucket, of this account, may invoke the functions."
  }
}

run "switches" {
  variables {
    versioning_enabled            = false
    intelligent_tiering_enabled   = true
    transfer_acceleration_enabled = true
    expiration_days               = 30
    cors_allowed_origins          = ["https://app.example.com"]
    access_log_bucket             = "logs"
    kms_key_arn                   = "arn:aws:kms:eu-central-1:123456789012:key/own"
  }

  assert {
    condition     = one(aws_s3_bucket_versioning.this.versioning_configuration).status == "Suspended" && aws_s3_bucket_lifecycle_configuration.this.rule[*].id == tolist(["abort-incomplete-uploads", "expire-objects", "intelligent-tiering"])
    error_message = "The switches must add and remove the rules."
  }

  assert {
    condition     = aws_s3_bucket_accelerate_configuration.this[0].status == "Enabled" && aws_s3_bucket_logging.this[0].target_prefix == "notes-dev-files/" && one(aws_s3_bucket_cors_configuration.this[0].cors_rule).allowed_origins == toset(["https://app.example.com"])
    error_message = "The switches must add acceleration, log and CORS."
  }

  assert {
    condition     = one(one(aws_s3_bucket_server_side_encryption_configuration.this.rule).apply_server_side_encryption_by_default).sse_algorithm == "aws:kms" && one(aws_s3_bucket_server_side_encryption_configuration.this.rule).bucket_key_enabled
    error_message = "The key must reach the bucket, with a bucket key to save requests."
  }
}

run "reader_distributions" {
  command = plan

  variables {
    reader_distribution_arns = ["arn:aws:cloudfront::123456789012:distribution/E1234567890"]
  }

  assert {
    condition     = [for statement in jsondecode(aws_s3_bucket_policy.this.policy).Statement : statement.Condition.StringEquals["aws:SourceArn"] if statement.Sid == "AllowCdn"] == ["arn:aws:cloudfront::123456789012:distribution/E1234567890"]
    error_message = "The distribution must be allowed to read the objects."
  }
}
