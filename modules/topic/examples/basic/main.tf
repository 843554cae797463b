provider "aws" {
  region = "eu-central-1"
}

module "topic" {
  source = "../../"

  name_prefix = "notes-dev"
  topic_name  = "note-shared"
  tags        = { Project = "notes" }

  subscriptions = {
    operator = {
      protocol      = "email"
      endpoint      = "operator@example.com"
      filter_policy = jsonencode({ severity = ["high"] })
    }
  }
}

output "topic_arn" {
  description = "Where to publish."
  value       = module.topic.topic_arn
}
