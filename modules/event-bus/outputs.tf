output "bus_name" {
  description = "Full name of the bus."
  value       = aws_cloudwatch_event_bus.this.name
}

output "bus_arn" {
  description = "ARN of the bus, known at plan."
  value       = local.bus_arn
}

output "archive_arn" {
  description = "ARN of the archive; empty when there is none."
  value       = join("", aws_cloudwatch_event_archive.this[*].arn)
}

output "dead_letter_queue_arn" {
  description = "ARN of the dead-letter queue, for the dead_letter_config of targets; empty when there is none."
  value       = local.dlq_arn
}

output "dead_letter_queue_name" {
  description = "Name of the dead-letter queue, for the observability module's sqs_dlq_names; empty when there is none."
  value       = join("", aws_sqs_queue.dlq[*].name)
}

output "put_events_policy_json" {
  description = "Policy (JSON) that allows putting events on this bus; for the inline_policies input of the function module."
  value = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid      = "PutEvents"
      Effect   = "Allow"
      Action   = "events:PutEvents"
      Resource = local.bus_arn
    }]
  })
}
