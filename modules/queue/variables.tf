variable "queue_name" {
  description = "Short name of the queue: letters, digits, hyphens and underscores, at most 40, without the .fifo ending. The queue is called `<name_prefix>-<queue_name>`, its dead-letter queue has -dlq added."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,40}$", var.queue_name))
    error_message = "queue_name is \"${var.queue_name}\"; it must be 1 to 40 letters, digits, hyphens and underscores. The .fifo ending is added by the module."
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

variable "visibility_timeout_seconds" {
  description = "Seconds for which a message that was received stays hidden, 0 to 43200. At least six times the timeout of the function that consumes the queue, otherwise a message is worked on twice."
  type        = number
  default     = 180
  nullable    = false

  validation {
    condition     = var.visibility_timeout_seconds >= 0 && var.visibility_timeout_seconds <= 43200 && floor(var.visibility_timeout_seconds) == var.visibility_timeout_seconds
    error_message = "visibility_timeout_seconds is ${var.visibility_timeout_seconds}; it must be a whole number from 0 to 43200."
  }
}

variable "max_receive_count" {
  description = "Attempts before a message goes to the dead-letter queue, 1 to 1000."
  type        = number
  default     = 3
  nullable    = false

  validation {
    condition     = var.max_receive_count >= 1 && var.max_receive_count <= 1000 && floor(var.max_receive_count) == var.max_receive_count
    error_message = "max_receive_count is ${var.max_receive_count}; it must be a whole number from 1 to 1000."
  }
}

variable "receive_wait_time_seconds" {
  description = "Seconds for which a receive call waits for messages, 0 to 20. Long polling costs less."
  type        = number
  default     = 20
  nullable    = false

  validation {
    condition     = var.receive_wait_time_seconds >= 0 && var.receive_wait_time_seconds <= 20
    error_message = "receive_wait_time_seconds is ${var.receive_wait_time_seconds}; it must be from 0 to 20."
  }
}

variable "retention_seconds" {
  description = "Seconds for which a message is kept, 60 to 1209600 (14 days)."
  type        = number
  default     = 345600
  nullable    = false

  validation {
    condition     = var.retention_seconds >= 60 && var.retention_seconds <= 1209600
    error_message = "retention_seconds is ${var.retention_seconds}; it must be from 60 to 1209600."
  }
}

variable "dlq_retention_seconds" {
  description = "Seconds for which the dead-letter queue keeps a message, 60 to 1209600. Not less than retention_seconds, because a message keeps its age."
  type        = number
  default     = 1209600
  nullable    = false

  validation {
    condition     = var.dlq_retention_seconds >= 60 && var.dlq_retention_seconds <= 1209600
    error_message = "dlq_retention_seconds is ${var.dlq_retention_seconds}; it must be from 60 to 1209600."
  }

  validation {
    condition     = var.dlq_retention_seconds >= var.retention_seconds
    error_message = "dlq_retention_seconds must not be less than retention_seconds: a message keeps its age when it moves, and would be gone before anybody looks."
  }
}

variable "delay_seconds" {
  description = "Seconds for which a new message stays hidden, 0 to 900."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.delay_seconds >= 0 && var.delay_seconds <= 900
    error_message = "delay_seconds is ${var.delay_seconds}; it must be from 0 to 900."
  }
}

variable "fifo_queue" {
  description = "Make both queues first-in-first-out; their names then end in .fifo."
  type        = bool
  default     = false
  nullable    = false
}

variable "content_based_deduplication" {
  description = "Take the SHA-256 of the body as the deduplication id. First-in-first-out queues only."
  type        = bool
  default     = false
  nullable    = false

  validation {
    condition     = !var.content_based_deduplication || var.fifo_queue
    error_message = "content_based_deduplication needs fifo_queue = true."
  }
}

variable "kms_key_arn" {
  description = "ARN of your KMS key for both queues. Without one the queues are encrypted with a key of SQS, which costs nothing and needs no permissions. Your key must allow the services that send."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null ? true : startswith(var.kms_key_arn, "arn:")
    error_message = "kms_key_arn must be the ARN of a key."
  }
}

variable "allowed_senders" {
  description = "AWS services that may send to the queue, each for one source only: `service` is the principal (sns.amazonaws.com, events.amazonaws.com, s3.amazonaws.com), `source_arn` the topic, rule or bucket. Functions of the account need no entry, their role suffices."
  type = list(object({
    service    = string
    source_arn = string
  }))
  default  = []
  nullable = false

  validation {
    condition     = alltrue([for sender in var.allowed_senders : can(regex("^[a-z0-9.-]+\\.amazonaws\\.com(\\.cn)?$", sender.service))])
    error_message = "Each service in allowed_senders must be a principal such as sns.amazonaws.com."
  }

  validation {
    condition     = alltrue([for sender in var.allowed_senders : startswith(sender.source_arn, "arn:")])
    error_message = "Each source_arn in allowed_senders must be an ARN."
  }
}

variable "enable_dlq_alarm" {
  description = "Alarm as soon as a message is in the dead-letter queue."
  type        = bool
  default     = true
  nullable    = false
}

variable "oldest_message_alarm_seconds" {
  description = "Alarm when the oldest message is older than this many seconds: the consumer does not keep up. Null for no such alarm."
  type        = number
  default     = null

  validation {
    condition     = var.oldest_message_alarm_seconds == null ? true : var.oldest_message_alarm_seconds > 0
    error_message = "oldest_message_alarm_seconds must be more than 0, or null."
  }
}

variable "alarm_sns_topic_arns" {
  description = "ARNs of the topics that are notified when an alarm starts and ends. Empty ones are left out, so the observability module's output fits also when its alarms are disabled."
  type        = list(string)
  default     = []
  nullable    = false
}
