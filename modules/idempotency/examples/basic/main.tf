provider "aws" {
  region = "eu-central-1"
}

module "idempotency" {
  source = "../../"

  name_prefix = "notes-dev"
  tags        = { Project = "notes" }
}

output "table_name" {
  description = "Name of the table, for the functions' environment."
  value       = module.idempotency.table_name
}
