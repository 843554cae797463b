variable "name_prefix" {
  description = "Start of every name; the core module's output."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z][A-Za-z0-9-]{0,63}$", var.name_prefix))
    error_message = "name_prefix is \"${var.name_prefix}\"; it must start with a letter and hold letters, digits and hyphens only, at most 64."
  }
}

variable "tags" {
  description = "Tags for everything that is made; the core module's common_tags."
  type        = map(string)
  nullable    = false
}

variable "table_name" {
  description = "Short name of the table; the table is called `<name_prefix>-<table_name>`."
  type        = string
  default     = "idempotency"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]{1,128}$", var.table_name))
    error_message = "table_name is \"${var.table_name}\"; it must be 1 to 128 letters, digits, dots, hyphens and underscores."
  }
}

variable "point_in_time_recovery" {
  description = "Keep continuous backups. Off: the records live for minutes to days, and an old one brought back would hide a request that was never carried out."
  type        = bool
  default     = false
  nullable    = false
}

variable "deletion_protection" {
  description = "Refuse to delete the table. To take it away, set false, apply, then destroy."
  type        = bool
  default     = false
  nullable    = false
}

variable "kms_key_arn" {
  description = "ARN of your KMS key for the table. Default: the account's key aws/dynamodb."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null ? true : startswith(var.kms_key_arn, "arn:")
    error_message = "kms_key_arn must be the ARN of a key."
  }
}
