provider "aws" {
  region = "eu-central-1"
}

module "visits" {
  source = "../../"

  name_prefix = "notes-dev"
  table_name  = "visits"
  tags        = { Project = "notes" }

  hash_key      = "user_id"
  range_key     = "visited_at"
  ttl_attribute = "expires_at"

  attributes = [
    { name = "user_id", type = "S" },
    { name = "visited_at", type = "N" },
    { name = "page", type = "S" },
  ]

  global_secondary_indexes = [
    { name = "by-page", hash_key = "page", range_key = "visited_at" },
  ]

  # A table that may be thrown away.
  deletion_protection = false
}

output "table_name" {
  description = "Name of the table."
  value       = module.visits.table_name
}
