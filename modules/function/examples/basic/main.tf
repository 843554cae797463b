provider "aws" {
  region = "eu-central-1"
}

module "core" {
  source = "../../../core"

  project_name = "notes"
  environment  = "dev"
}

module "hello" {
  source = "../../"

  function_name      = "hello"
  source_dir         = "${path.module}/src"
  assume_role_policy = module.core.function_assume_role_policy

  name_prefix = module.core.name_prefix
  environment = "dev"
  region      = module.core.region
  account_id  = module.core.account_id
  tags        = module.core.common_tags

  environment_variables = {
    LOG_LEVEL = "INFO"
  }

  schedule_expression = "rate(5 minutes)"
}

output "function_arn" {
  description = "ARN of the function."
  value       = module.hello.function_arn
}
