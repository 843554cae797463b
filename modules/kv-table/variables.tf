variable "table_name" {
  description = "Short name of the table: letters, digits, dots, hyphens and underscores, at most 128. The table is called `<name_prefix>-<table_name>`."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]{1,128}$", var.table_name))
    error_message = "table_name is \"${var.table_name}\"; it must be 1 to 128 letters, digits, dots, hyphens and underscores."
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

variable "hash_key" {
  description = "Attribute that is the partition key. A change replaces the table."
  type        = string
  nullable    = false

  validation {
    condition     = length(var.hash_key) >= 1 && length(var.hash_key) <= 255
    error_message = "hash_key must have 1 to 255 characters."
  }
}

variable "range_key" {
  description = "Attribute that is the sort key. A change replaces the table."
  type        = string
  default     = null

  validation {
    condition     = var.range_key == null ? true : length(var.range_key) >= 1 && length(var.range_key) <= 255
    error_message = "range_key must have 1 to 255 characters, or be null."
  }
}

variable "attributes" {
  description = "Attributes that are keys of the table or of an index, and no others: `name`, and `type` S (string), N (number) or B (binary)."
  type        = list(object({ name = string, type = string }))
  nullable    = false

  validation {
    condition     = alltrue([for attribute in var.attributes : contains(["S", "N", "B"], attribute.type)])
    error_message = "The type of each of attributes must be S, N or B."
  }

  validation {
    condition     = length(distinct(var.attributes[*].name)) == length(var.attributes)
    error_message = "attributes must not name an attribute twice."
  }

  validation {
    condition = length(setsubtract(
      concat([var.hash_key], compact([var.range_key]), flatten([for index in var.global_secondary_indexes : compact([index.hash_key, index.range_key])])),
      var.attributes[*].name,
    )) == 0
    error_message = "attributes must name every key: hash_key, range_key and the keys of each index."
  }

  validation {
    condition = length(setsubtract(
      var.attributes[*].name,
      concat([var.hash_key], compact([var.range_key]), flatten([for index in var.global_secondary_indexes : compact([index.hash_key, index.range_key])])),
    )) == 0
    error_message = "attributes must name keys only; DynamoDB refuses an attribute that neither the table nor an index uses."
  }
}

variable "billing_mode" {
  description = "PAY_PER_REQUEST (nothing to plan, nothing to pay when idle) or PROVISIONED."
  type        = string
  default     = "PAY_PER_REQUEST"
  nullable    = false

  validation {
    condition     = contains(["PAY_PER_REQUEST", "PROVISIONED"], var.billing_mode)
    error_message = "billing_mode is \"${var.billing_mode}\"; it must be PAY_PER_REQUEST or PROVISIONED."
  }
}

variable "read_capacity" {
  description = "Read units a second, with PROVISIONED; also of each index that names none."
  type        = number
  default     = 5
  nullable    = false

  validation {
    condition     = var.read_capacity >= 1
    error_message = "read_capacity is ${var.read_capacity}; it must be at least 1."
  }
}

variable "write_capacity" {
  description = "Write units a second, with PROVISIONED; also of each index that names none."
  type        = number
  default     = 5
  nullable    = false

  validation {
    condition     = var.write_capacity >= 1
    error_message = "write_capacity is ${var.write_capacity}; it must be at least 1."
  }
}

variable "ttl_attribute" {
  description = "Attribute with the time, in seconds since 1970, after which an item is removed. Removal may take two days."
  type        = string
  default     = null
}

variable "global_secondary_indexes" {
  description = "Further ways to look items up. `projection_type` is ALL, KEYS_ONLY or INCLUDE (with `non_key_attributes`); the capacities matter with PROVISIONED only."
  type = list(object({
    name               = string
    hash_key           = string
    range_key          = optional(string)
    projection_type    = optional(string, "ALL")
    non_key_attributes = optional(list(string))
    read_capacity      = optional(number)
    write_capacity     = optional(number)
  }))
  default  = []
  nullable = false

  validation {
    condition     = alltrue([for index in var.global_secondary_indexes : contains(["ALL", "KEYS_ONLY", "INCLUDE"], index.projection_type)])
    error_message = "The projection_type of each of global_secondary_indexes must be ALL, KEYS_ONLY or INCLUDE."
  }

  validation {
    condition     = alltrue([for index in var.global_secondary_indexes : (index.projection_type == "INCLUDE") == (length(coalesce(index.non_key_attributes, [])) > 0)])
    error_message = "Each of global_secondary_indexes names non_key_attributes when, and only when, its projection_type is INCLUDE."
  }

  validation {
    condition     = length(distinct(var.global_secondary_indexes[*].name)) == length(var.global_secondary_indexes)
    error_message = "global_secondary_indexes must not name an index twice."
  }
}

variable "point_in_time_recovery" {
  description = "Keep 35 days of continuous backups. Billed by the size of the table."
  type        = bool
  default     = true
  nullable    = false
}

variable "deletion_protection" {
  description = "Refuse to delete the table. To take it away, set false, apply, then destroy."
  type        = bool
  default     = true
  nullable    = false
}

variable "stream_view_type" {
  description = "Content of the table's stream: KEYS_ONLY, NEW_IMAGE, OLD_IMAGE or NEW_AND_OLD_IMAGES. Null for no stream."
  type        = string
  default     = null

  validation {
    condition     = var.stream_view_type == null ? true : contains(["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"], var.stream_view_type)
    error_message = "stream_view_type must be KEYS_ONLY, NEW_IMAGE, OLD_IMAGE, NEW_AND_OLD_IMAGES or null."
  }
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

variable "table_name_override" {
  description = "Full name of the table, instead of prefix and short name; for a table that exists."
  type        = string
  default     = null

  validation {
    condition     = var.table_name_override == null ? true : can(regex("^[A-Za-z0-9._-]{3,255}$", var.table_name_override))
    error_message = "table_name_override must be 3 to 255 letters, digits, dots, hyphens and underscores."
  }
}
