output "queue_url" {
  description = "URL of the queue, for those who send."
  value       = aws_sqs_queue.this.url
}

output "queue_arn" {
  description = "ARN of the queue, known at plan; the sqs_trigger_arn input of the function module."
  value       = local.queue_arn
}

output "queue_name" {
  description = "Full name of the queue."
  value       = aws_sqs_queue.this.name
}

output "dlq_url" {
  description = "URL of the dead-letter queue."
  value       = aws_sqs_queue.dlq.url
}

output "dlq_arn" {
  description = "ARN of the dead-letter queue, known at plan."
  value       = local.dlq_arn
}

output "dlq_name" {
  description = "Full name of the dead-letter queue; for the sqs_dlq_names input of the observability module."
  value       = aws_sqs_queue.dlq.name
}

output "send_policy_json" {
  description = "Policy (JSON) that allows sending to this queue; for the inline_policies input of the function module."
  value       = jsonencode(local.send_policy)
}
