provider "aws" {
  region = "eu-central-1"
}

module "core" {
  source = "../../"

  project_name = "notes"
  environment  = "dev"

  extra_tags = {
    Owner = "platform"
  }

  # In one stack for each account and region, where APIs write logs.
  manage_api_gateway_account = true
}

output "name_prefix" {
  description = "Start of every name."
  value       = module.core.name_prefix
}
