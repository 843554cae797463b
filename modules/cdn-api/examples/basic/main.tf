provider "aws" {
  region = "eu-central-1"
}

module "cdn" {
  source = "../../"

  name_prefix = "notes-dev"
  tags        = { Project = "notes" }

  origin_domain = "abc123.execute-api.eu-central-1.amazonaws.com"
  origin_path   = "/live"

  forwarded_headers = ["Authorization", "X-Api-Key", "Accept", "X-Correlation-Id"]
}

output "domain_name" {
  description = "Host name of the API."
  value       = module.cdn.distribution_domain_name
}
