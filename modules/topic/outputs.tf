output "topic_arn" {
  description = "ARN of the topic, known at plan."
  value       = local.topic_arn
}

output "topic_name" {
  description = "Full name of the topic."
  value       = aws_sns_topic.this.name
}

output "platform_application_arn" {
  description = "ARN of the mobile push application; empty when there is no platform."
  value       = join("", aws_sns_platform_application.this[*].arn)
}

output "publish_policy_json" {
  description = "Policy (JSON) that allows publishing to this topic; for the inline_policies input of the function module."
  value = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [{
        Sid      = "Publish"
        Effect   = "Allow"
        Action   = "sns:Publish"
        Resource = local.topic_arn
      }],
      # The account's aws/sns key admits every role by itself; another key does not.
      [for arn in compact(var.create_kms_key || var.kms_key_arn != null ? [local.key_arn] : []) : {
        Sid      = "Encrypt"
        Effect   = "Allow"
        Action   = ["kms:Decrypt", "kms:GenerateDataKey"]
        Resource = arn
      }],
    )
  })
}

output "kms_key_arn" {
  description = "ARN of the key that was created for the topic, or empty."
  value       = join("", aws_kms_key.this[*].arn)
}
