provider "aws" {
  region = "eu-central-1"
}

module "queue" {
  source = "../../"

  name_prefix = "notes-dev"
  queue_name  = "mail"
  tags        = { Project = "notes" }

  # Six times the timeout of the function that sends the mail.
  visibility_timeout_seconds = 180
}

output "queue_url" {
  description = "Where to send messages."
  value       = module.queue.queue_url
}
