provider "aws" {
  region = "eu-central-1"
}

module "event_bus" {
  source = "../../"

  name_prefix = "notes-dev"
  bus_name    = "domain"
  tags        = { Project = "notes" }

  archive_enabled        = true
  archive_retention_days = 14
}

resource "aws_cloudwatch_event_rule" "note_created" {
  name           = "notes-dev-note-created"
  description    = "A note was created."
  event_bus_name = module.event_bus.bus_name
  event_pattern  = jsonencode({ detail-type = ["note.created"] })
}

output "bus_name" {
  description = "Bus to put events on."
  value       = module.event_bus.bus_name
}
