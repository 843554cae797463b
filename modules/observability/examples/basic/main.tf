provider "aws" {
  region = "eu-central-1"
}

module "observability" {
  source = "../../"

  name_prefix = "notes-dev"
  tags        = { Project = "notes" }

  alarm_email_endpoints = ["operator@example.com"]
  lambda_function_names = ["notes-dev-hello"]
  api_gateway_name      = "notes-dev-api"
  sqs_dlq_names         = ["notes-dev-mail-dlq"]
  enable_dashboard      = true

  custom_alarms = [
    {
      name                = "heartbeat"
      description         = "The nightly clean-up did not report."
      namespace           = "Notes"
      metric_name         = "CleanupDone"
      comparison_operator = "LessThanThreshold"
      threshold           = 1
      period              = 86400
      treat_missing_data  = "breaching"
    },
  ]
}

output "dashboard_url" {
  description = "Address of the dashboard."
  value       = module.observability.dashboard_url
}
