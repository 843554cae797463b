output "bucket_id" {
  description = "Name of the bucket."
  value       = aws_s3_bucket.this.id
}

output "bucket_arn" {
  description = "ARN of the bucket, known at plan."
  value       = local.bucket_arn
}

output "bucket_regional_domain_name" {
  description = "Host name of the bucket in its region."
  value       = aws_s3_bucket.this.bucket_regional_domain_name
}

output "cloudfront_domain_name" {
  description = "Host name of the CDN; empty when there is none."
  value       = join("", aws_cloudfront_distribution.this[*].domain_name)
}

output "cloudfront_distribution_id" {
  description = "Id of the CDN, for invalidations; empty when there is none."
  value       = join("", aws_cloudfront_distribution.this[*].id)
}

output "cloudfront_distribution_arn" {
  description = "ARN of the CDN; empty when there is none."
  value       = join("", aws_cloudfront_distribution.this[*].arn)
}

output "read_policy_json" {
  description = "Policy (JSON) that allows listing the bucket and reading its objects; for the inline_policies input of the function module."
  value = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "List"
        Effect   = "Allow"
        Action   = "s3:ListBucket"
        Resource = local.bucket_arn
      },
      {
        Sid      = "Read"
        Effect   = "Allow"
        Action   = "s3:GetObject"
        Resource = "${local.bucket_arn}/*"
      },
    ]
  })
}

output "read_write_policy_json" {
  description = "Policy (JSON) that allows listing the bucket, and reading, writing and deleting its objects; for the inline_policies input of the function module."
  value = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "List"
        Effect   = "Allow"
        Action   = "s3:ListBucket"
        Resource = local.bucket_arn
      },
      {
        Sid      = "ReadWrite"
        Effect   = "Allow"
        Action   = ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"]
        Resource = "${local.bucket_arn}/*"
      },
    ]
  })
}
