output "api_url" {
  description = "URL of the API."
  value       = module.api.invoke_url
}

output "database_endpoint" {
  description = "Host name of the database, for migrations."
  value       = module.database.cluster_endpoint
}

output "admin_connect_policy_arn" {
  description = "Policy for the role that runs migrations."
  value       = module.database.admin_connect_policy_arn
}

output "function_roles" {
  description = "Roles to be mapped to database roles, by function."
  value = {
    api         = module.api_function.role_arn
    mail-worker = module.worker_function.role_arn
  }
}
