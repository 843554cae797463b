output "distribution_domain_name" {
  description = "Host name of the CDN."
  value       = aws_cloudfront_distribution.this.domain_name
}

output "distribution_id" {
  description = "Id of the CDN, for invalidations."
  value       = aws_cloudfront_distribution.this.id
}

output "distribution_arn" {
  description = "ARN of the CDN."
  value       = aws_cloudfront_distribution.this.arn
}

output "distribution_hosted_zone_id" {
  description = "Zone that an alias record for one of aliases points into."
  value       = aws_cloudfront_distribution.this.hosted_zone_id
}
