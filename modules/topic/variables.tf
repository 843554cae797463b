variable "topic_name" {
  description = "Short name of the topic: letters, digits, hyphens and underscores, at most 128, without the .fifo ending. The topic is called `<name_prefix>-<topic_name>`."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,128}$", var.topic_name))
    error_message = "topic_name is \"${var.topic_name}\"; it must be 1 to 128 letters, digits, hyphens and underscores. The .fifo ending is added by the module."
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
  default     = {}
  nullable    = false
}

variable "platform" {
  description = "Mobile push platform to make an application for: PUSH_A (APNS), PUSH_A_SANDBOX (APNS_SANDBOX), PUSH_B (GCM), or null for none. The AWS names in brackets do as well."
  type        = string
  default     = null

  validation {
    condition     = var.platform == null ? true : contains(["PUSH_A", "PUSH_A_SANDBOX", "PUSH_B", "APNS", "APNS_SANDBOX", "GCM"], var.platform)
    error_message = "platform must be PUSH_A, PUSH_A_SANDBOX, PUSH_B (or APNS, APNS_SANDBOX, GCM), or null."
  }
}

variable "platform_credential" {
  description = "Secret of the platform: the private key for PUSH_A and PUSH_A_SANDBOX, the API key for PUSH_B. It is kept in the state, so the state must be a secret too."
  type        = string
  default     = null
  sensitive   = true

  validation {
    condition     = (var.platform == null) == (var.platform_credential == null)
    error_message = "platform and platform_credential go together: give both or neither."
  }
}

variable "platform_principal" {
  description = "The certificate that belongs to the private key (or the id of a signing key), for PUSH_A and PUSH_A_SANDBOX only."
  type        = string
  default     = null
  sensitive   = true

  validation {
    condition     = var.platform_principal == null ? true : contains(["PUSH_A", "PUSH_A_SANDBOX", "APNS", "APNS_SANDBOX"], coalesce(var.platform, "none"))
    error_message = "platform_principal is for PUSH_A and PUSH_A_SANDBOX only."
  }
}

variable "apple_platform_team_id" {
  description = "Team id, where PUSH_A uses a signing key instead of a certificate."
  type        = string
  default     = null
}

variable "apple_platform_bundle_id" {
  description = "Bundle id of the app, where PUSH_A uses a signing key instead of a certificate."
  type        = string
  default     = null
}

variable "fifo_topic" {
  description = "Make the topic first-in-first-out; its name then ends in .fifo."
  type        = bool
  default     = false
  nullable    = false
}

variable "content_based_deduplication" {
  description = "Take the SHA-256 of the message as the deduplication id. First-in-first-out topics only."
  type        = bool
  default     = false
  nullable    = false

  validation {
    condition     = !var.content_based_deduplication || var.fifo_topic
    error_message = "content_based_deduplication needs fifo_topic = true."
  }
}

variable "subscriptions" {
  description = "Subscribers, by a name of your choice. `protocol` is sqs, lambda, https, email, email-json, sms, firehose or application; `filter_policy` is JSON; `dead_letter_queue_arn` receives messages that could not be delivered (its queue must allow sns.amazonaws.com for this topic)."
  type = map(object({
    protocol              = string
    endpoint              = string
    filter_policy         = optional(string)
    filter_policy_scope   = optional(string)
    raw_message_delivery  = optional(bool)
    dead_letter_queue_arn = optional(string)
    subscription_role_arn = optional(string)
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for subscription in values(var.subscriptions) : contains(["sqs", "lambda", "https", "email", "email-json", "sms", "firehose", "application"], subscription.protocol)])
    error_message = "The protocol of each of subscriptions must be sqs, lambda, https, email, email-json, sms, firehose or application. Plain http is not offered."
  }

  validation {
    condition     = alltrue([for subscription in values(var.subscriptions) : subscription.filter_policy == null ? true : can(jsondecode(subscription.filter_policy))])
    error_message = "Each filter_policy in subscriptions must be JSON; jsonencode makes it."
  }
}

variable "publisher_services" {
  description = "AWS services that may publish, each for one source only: `service` is the principal (cloudwatch.amazonaws.com, events.amazonaws.com, s3.amazonaws.com), `source_arn` the alarm, rule or bucket. Roles of the account need no entry. Services need your own KMS key: see create_kms_key."
  type = list(object({
    service    = string
    source_arn = string
  }))
  default  = []
  nullable = false

  validation {
    condition     = alltrue([for publisher in var.publisher_services : can(regex("^[a-z0-9.-]+\\.amazonaws\\.com(\\.cn)?$", publisher.service))])
    error_message = "Each service in publisher_services must be a principal such as events.amazonaws.com."
  }

  validation {
    condition     = length(var.publisher_services) == 0 || var.create_kms_key || var.kms_key_arn != null
    error_message = "publisher_services needs create_kms_key = true or a kms_key_arn: the account's aws/sns key does not admit services, and their messages would be lost without a word."
  }
}

variable "create_kms_key" {
  description = "Make a key for this topic that admits the publisher_services (about 1 USD a month). Without it, and without kms_key_arn, the account's aws/sns key encrypts."
  type        = bool
  default     = false
  nullable    = false
}

variable "kms_key_arn" {
  description = "ARN of your KMS key for the messages. It must allow the publisher_services."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null ? true : startswith(var.kms_key_arn, "arn:") && !var.create_kms_key
    error_message = "kms_key_arn must be the ARN of a key, and goes without create_kms_key."
  }
}
