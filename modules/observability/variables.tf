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

variable "enable_dashboard" {
  description = "Make a dashboard. CloudWatch asks about 3 USD a month for one."
  type        = bool
  default     = false
  nullable    = false
}

variable "enable_alarms" {
  description = "Create the alarms and their topic. An alarm costs about 0.10 USD per month."
  type        = bool
  default     = true
  nullable    = false
}

variable "alarm_email_endpoints" {
  description = "Addresses that are written to when an alarm goes off and when it is over. Each has to confirm a message from AWS first."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for address in var.alarm_email_endpoints : can(regex("^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$", address))])
    error_message = "alarm_email_endpoints must hold e-mail addresses."
  }
}

variable "create_kms_key" {
  description = "Make a key for the topic that admits CloudWatch (about 1 USD a month). The account's aws/sns key does not admit it, and alarms would be lost without a word."
  type        = bool
  default     = true
  nullable    = false
}

variable "kms_key_arn" {
  description = "ARN of your KMS key for the topic, instead of create_kms_key; it must allow cloudwatch.amazonaws.com."
  type        = string
  default     = null

  validation {
    condition     = !var.enable_alarms || (var.kms_key_arn != null) != var.create_kms_key
    error_message = "Give either create_kms_key = true or a kms_key_arn: without a key that admits CloudWatch no alarm would arrive."
  }
}

variable "lambda_function_names" {
  description = "Full names of the functions to watch; the function module's function_name."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = length(distinct(var.lambda_function_names)) == length(var.lambda_function_names)
    error_message = "lambda_function_names must not name a function twice."
  }
}

variable "lambda_error_threshold" {
  description = "Errors of one function within five minutes that set the alarm off."
  type        = number
  default     = 5
  nullable    = false

  validation {
    condition     = var.lambda_error_threshold >= 1
    error_message = "lambda_error_threshold is ${var.lambda_error_threshold}; it must be at least 1."
  }
}

variable "lambda_throttle_threshold" {
  description = "Throttled invocations of one function within five minutes that set the alarm off."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.lambda_throttle_threshold >= 1
    error_message = "lambda_throttle_threshold is ${var.lambda_throttle_threshold}; it must be at least 1."
  }
}

variable "lambda_duration_threshold_ms" {
  description = "The alarm is raised if the 99th percentile of the duration exceeds these milliseconds for 15 minutes. Use less than the functions' timeout. Null for no such alarm."
  type        = number
  default     = null

  validation {
    condition     = var.lambda_duration_threshold_ms == null ? true : var.lambda_duration_threshold_ms > 0
    error_message = "lambda_duration_threshold_ms must be more than 0, or null."
  }
}

variable "api_gateway_name" {
  description = "Name of the REST API to watch; the rest-api module's api_name."
  type        = string
  default     = null
}

variable "api_5xx_threshold" {
  description = "Responses with a status of 500 or more within five minutes that set the alarm off."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.api_5xx_threshold >= 1
    error_message = "api_5xx_threshold is ${var.api_5xx_threshold}; it must be at least 1."
  }
}

variable "api_latency_threshold_ms" {
  description = "The alarm is raised if the 95th percentile of the latency exceeds these milliseconds for 15 minutes. Null for no such alarm."
  type        = number
  default     = null

  validation {
    condition     = var.api_latency_threshold_ms == null ? true : var.api_latency_threshold_ms > 0
    error_message = "api_latency_threshold_ms must be more than 0, or null."
  }
}

variable "sqs_dlq_names" {
  description = "Names of the dead-letter queues that must stay empty; the queue module's dlq_name. That module can also create this alarm (enable_dlq_alarm)."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = length(distinct(var.sqs_dlq_names)) == length(var.sqs_dlq_names)
    error_message = "sqs_dlq_names must not name a queue twice."
  }
}

variable "eventbridge_rule_names" {
  description = "Names of the rules whose failed deliveries raise an alarm."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = length(distinct(var.eventbridge_rule_names)) == length(var.eventbridge_rule_names)
    error_message = "eventbridge_rule_names must not name a rule twice."
  }
}

variable "event_bus_name" {
  description = "Bus that the rules belong to; the event-bus module's bus_name. Null for the account's default bus."
  type        = string
  default     = null
}

variable "distsql_cluster_identifier" {
  description = "Database to watch; the database/distsql module's cluster_identifier. Its conflicts and commits come on the dashboard."
  type        = string
  default     = null
}

variable "metrics_namespace" {
  description = "Namespace of the application's own metrics: METRICS_NAMESPACE in the functions' environment."
  type        = string
  default     = "Trellis"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9._/#:-]{1,255}$", var.metrics_namespace)) && !startswith(var.metrics_namespace, "AWS/")
    error_message = "metrics_namespace is \"${var.metrics_namespace}\"; it must be 1 to 255 letters, digits and ._/#:-, and not start with AWS/."
  }
}

variable "retry_metric_name" {
  description = "Name of the application's metric that counts the retries of queries."
  type        = string
  default     = "QueryRetries"
  nullable    = false
}

variable "custom_alarms" {
  description = "Further alarms on any metric. `statistic` is SampleCount, Average, Sum, Minimum, Maximum or a percentile such as p99; `treat_missing_data` is notBreaching (no news is good news), breaching (for heartbeats), ignore or missing."
  type = list(object({
    name                = string
    description         = optional(string)
    namespace           = string
    metric_name         = string
    dimensions          = optional(map(string), {})
    statistic           = optional(string, "Sum")
    comparison_operator = optional(string, "GreaterThanOrEqualToThreshold")
    threshold           = number
    period              = optional(number, 300)
    evaluation_periods  = optional(number, 1)
    datapoints_to_alarm = optional(number)
    treat_missing_data  = optional(string, "notBreaching")
  }))
  default  = []
  nullable = false

  validation {
    condition     = length(distinct(var.custom_alarms[*].name)) == length(var.custom_alarms)
    error_message = "custom_alarms must not use a name twice."
  }

  validation {
    condition     = alltrue([for alarm in var.custom_alarms : can(regex("^(SampleCount|Average|Sum|Minimum|Maximum|p[0-9]{1,2}(\\.[0-9]{1,2})?|p100)$", alarm.statistic))])
    error_message = "The statistic of each of custom_alarms must be SampleCount, Average, Sum, Minimum, Maximum or a percentile such as p99."
  }

  validation {
    condition     = alltrue([for alarm in var.custom_alarms : contains(["GreaterThanOrEqualToThreshold", "GreaterThanThreshold", "LessThanThreshold", "LessThanOrEqualToThreshold"], alarm.comparison_operator)])
    error_message = "The comparison_operator of each of custom_alarms must be GreaterThanOrEqualToThreshold, GreaterThanThreshold, LessThanThreshold or LessThanOrEqualToThreshold."
  }

  validation {
    condition     = alltrue([for alarm in var.custom_alarms : contains(["notBreaching", "breaching", "ignore", "missing"], alarm.treat_missing_data)])
    error_message = "The treat_missing_data of each of custom_alarms must be notBreaching, breaching, ignore or missing."
  }

  validation {
    condition     = alltrue([for alarm in var.custom_alarms : contains([10, 20, 30], alarm.period) || (alarm.period >= 60 && alarm.period % 60 == 0)])
    error_message = "The period of each of custom_alarms must be 10, 20, 30 or a multiple of 60 (seconds)."
  }
}
