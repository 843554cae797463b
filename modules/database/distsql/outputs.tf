output "cluster_arn" {
  description = "ARN of the cluster."
  value       = aws_dsql_cluster.this.arn
}

output "cluster_identifier" {
  description = "Identifier of the cluster, also its dimension in CloudWatch."
  value       = aws_dsql_cluster.this.identifier
}

output "cluster_endpoint" {
  description = "Host name to connect to, on port 5432."
  value       = local.endpoint
}

output "connect_policy_arn" {
  description = "ARN of the policy that allows dsql:DbConnect on this cluster; for the functions."
  value       = aws_iam_policy.connect["connect"].arn
}

output "admin_connect_policy_arn" {
  description = "ARN of the policy that allows dsql:DbConnectAdmin on this cluster; for what runs migrations."
  value       = aws_iam_policy.connect["admin-connect"].arn
}

output "vpc_endpoint_service_name" {
  description = "Name of the service to make a VPC endpoint for, where functions run inside a VPC."
  value       = aws_dsql_cluster.this.vpc_endpoint_service_name
}
