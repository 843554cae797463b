output "table_name" {
  description = "Full name of the table."
  value       = aws_dynamodb_table.this.name
}

output "table_arn" {
  description = "ARN of the table, known at plan."
  value       = local.table_arn
}

output "table_id" {
  description = "Id of the table, which is its name."
  value       = aws_dynamodb_table.this.id
}

output "stream_arn" {
  description = "ARN of the table's stream; empty when there is none."
  value       = var.stream_view_type == null ? "" : aws_dynamodb_table.this.stream_arn
}

output "read_policy_json" {
  description = "Policy (JSON) that allows reading the table and its indexes; for the inline_policies input of the function module."
  value = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid      = "Read"
      Effect   = "Allow"
      Action   = local.read_actions
      Resource = local.policy_resources
    }]
  })
}

output "read_write_policy_json" {
  description = "Policy (JSON) that allows reading and writing the table and its indexes; for the inline_policies input of the function module."
  value = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid      = "ReadWrite"
      Effect   = "Allow"
      Action   = concat(local.read_actions, local.write_actions)
      Resource = local.policy_resources
    }]
  })
}
