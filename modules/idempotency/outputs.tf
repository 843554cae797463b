output "table_name" {
  description = "Full name of the table, for the function's environment."
  value       = aws_dynamodb_table.this.name
}

output "table_arn" {
  description = "ARN of the table, known at plan."
  value       = local.table_arn
}

output "policy_json" {
  description = "Policy (JSON) with the four actions that idempotency needs; for the inline_policies input of the function module."
  value = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid      = "Idempotency"
      Effect   = "Allow"
      Action   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"]
      Resource = local.table_arn
    }]
  })
}
