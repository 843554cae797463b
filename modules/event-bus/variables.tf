variable "bus_name" {
  description = "Short name of the bus: letters, digits, dots, hyphens and underscores, at most 64. The bus is called `<name_prefix>-<bus_name>`."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]{1,64}$", var.bus_name))
    error_message = "bus_name is \"${var.bus_name}\"; it must be 1 to 64 letters, digits, dots, hyphens and underscores."
  }
}

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

variable "description" {
  description = "Description of the bus."
  type        = string
  default     = "Events between the parts of the application."
  nullable    = false
}

variable "allowed_account_ids" {
  description = "Other AWS accounts that may put events on the bus. Roles of the own account need no entry."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for id in var.allowed_account_ids : can(regex("^[0-9]{12}$", id))])
    error_message = "allowed_account_ids must hold numbers of accounts with twelve digits."
  }
}

variable "dead_letter_queue_enabled" {
  description = "Make a queue for the events that a rule's target did not take; give its ARN to the dead_letter_config of each target. Without it such events are lost."
  type        = bool
  default     = true
  nullable    = false
}

variable "archive_enabled" {
  description = "Keep the events, so that they can be sent again. Stored events are billed by the gigabyte."
  type        = bool
  default     = false
  nullable    = false
}

variable "archive_retention_days" {
  description = "Days for which the archive keeps events, 1 to 3650."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = var.archive_retention_days >= 1 && var.archive_retention_days <= 3650 && floor(var.archive_retention_days) == var.archive_retention_days
    error_message = "archive_retention_days is ${var.archive_retention_days}; it must be a whole number from 1 to 3650."
  }
}

variable "kms_key_arn" {
  description = "ARN of your KMS key for the events. Default: the key of EventBridge."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null ? true : startswith(var.kms_key_arn, "arn:")
    error_message = "kms_key_arn must be the ARN of a key."
  }
}
