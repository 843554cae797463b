provider "aws" {
  region = "eu-central-1"
}

module "files" {
  source = "../../"

  bucket_name  = "files"
  name_prefix  = "notes-dev"
  project_name = "example"
  tags         = { Project = "notes" }

  cors_allowed_origins = ["https://notes.example.com"]
  cloudfront_enabled   = true
}

output "bucket" {
  description = "Name of the bucket."
  value       = module.files.bucket_id
}

output "cdn" {
  description = "Host name of the CDN."
  value       = module.files.cloudfront_domain_name
}
