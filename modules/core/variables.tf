variable "project_name" {
  description = "Name of the project: lower-case letters, digits and single hyphens, starting with a letter, at most 32 characters. All names begin with it."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9]*(-[a-z0-9]+)*$", var.project_name)) && length(var.project_name) <= 32
    error_message = "project_name is \"${var.project_name}\"; it must be lower-case letters, digits and single hyphens, start with a letter and have at most 32 characters."
  }
}

variable "environment" {
  description = "Stage of deployment: dev, staging, prod or any other name, such as preview-42."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9]*(-[a-z0-9]+)*$", var.environment)) && length(var.environment) <= 20
    error_message = "environment is \"${var.environment}\"; it must be lower-case letters, digits and single hyphens, start with a letter and have at most 20 characters."
  }
}

variable "extra_tags" {
  description = "Tags of all resources, in addition to Project, Environment and ManagedBy, which they can replace."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for name in keys(var.extra_tags) : !startswith(lower(name), "aws:")])
    error_message = "extra_tags must not hold a name that starts with \"aws:\"; AWS keeps these for itself."
  }
}

variable "manage_api_gateway_account" {
  description = "Create the role with which API Gateway writes logs, and set it for the account. The setting exists once per account and region: enable it in exactly one stack, before the first rest-api or websocket-api is created there."
  type        = bool
  default     = false
  nullable    = false
}

variable "permissions_boundary_arn" {
  description = "ARN of the permissions boundary of the roles, if the account requires one."
  type        = string
  default     = null

  validation {
    condition     = var.permissions_boundary_arn == null ? true : can(regex("^arn:[a-z-]+:iam::.*:policy/", var.permissions_boundary_arn))
    error_message = "permissions_boundary_arn must be the ARN of a policy."
  }
}
