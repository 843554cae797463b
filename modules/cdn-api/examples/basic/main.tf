provider "aws" {
  region = "eu-central-1"
}

module "cdn" {
  source = "../../"

  name_prefix = "notes-dev"
  tags        = { Project = "notes" }

  origin_domain = "abc123.execute-api.eu-central-1.amazonaws.com"
  origin_path   = "/live"

  # the same as ORIGIN_VERIFY_SECRET of the functions
  origin_secret = var.origin_secret

  origin_headers = [
    "Access-Control-Request-Headers", "Access-Control-Request-Method", "Referer",
    "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site",
    "Accept", "User-Agent", "X-Correlation-Id",
  ]
}

variable "origin_secret" {
  description = "What CloudFront proves itself by to the functions."
  type        = string
  default     = null
  sensitive   = true
}

output "domain_name" {
  description = "Host name of the API."
  value       = module.cdn.distribution_domain_name
}
