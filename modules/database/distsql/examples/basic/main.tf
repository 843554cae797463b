provider "aws" {
  region = "eu-central-1"
}

module "database" {
  source = "../../"

  name_prefix = "notes-dev"
  tags        = { Project = "notes" }

  # A database that may be thrown away.
  deletion_protection = false
}

output "endpoint" {
  description = "Host name to connect to."
  value       = module.database.cluster_endpoint
}
