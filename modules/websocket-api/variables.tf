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
  description = "Description of the API."
  type        = string
  default     = "WebSocket API of a Trellis application."
  nullable    = false
}

variable "route_selection_expression" {
  description = "Which part of a message names its route."
  type        = string
  default     = "$request.body.action"
  nullable    = false

  validation {
    condition     = can(regex("^\\$request\\.body\\.[A-Za-z0-9_.-]+$", var.route_selection_expression))
    error_message = "route_selection_expression is \"${var.route_selection_expression}\"; it must name a field of the message, such as $request.body.action."
  }
}

variable "stage_name" {
  description = "Name of the stage, the path of invoke_url."
  type        = string
  default     = "live"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,128}$", var.stage_name))
    error_message = "stage_name is \"${var.stage_name}\"; it must be 1 to 128 letters, digits, hyphens and underscores. $default is for HTTP APIs only."
  }
}

variable "throttling_burst_limit" {
  description = "Burst limit of messages and connects."
  type        = number
  default     = 100
  nullable    = false

  validation {
    condition     = var.throttling_burst_limit >= 0 && floor(var.throttling_burst_limit) == var.throttling_burst_limit
    error_message = "throttling_burst_limit is ${var.throttling_burst_limit}; it must be a whole number, 0 or more."
  }
}

variable "throttling_rate_limit" {
  description = "Steady rate limit of messages and connects per second."
  type        = number
  default     = 50
  nullable    = false

  validation {
    condition     = var.throttling_rate_limit >= 0
    error_message = "throttling_rate_limit is ${var.throttling_rate_limit}; it must be 0 or more."
  }
}

variable "routes" {
  description = "Functions by route key: $connect, $disconnect, $default, and your own actions. `two_way` sends the function's response to the sender. If empty, create routes outside of the module with api_id."
  type = map(object({
    function_name = string
    invoke_arn    = string
    two_way       = optional(bool, false)
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for key in keys(var.routes) : !startswith(key, "$") || contains(["$connect", "$disconnect", "$default"], key)])
    error_message = "Keys of routes that start with $ must be $connect, $disconnect or $default."
  }

  validation {
    condition     = alltrue([for route in values(var.routes) : can(regex("/invocations$", route.invoke_arn))])
    error_message = "Each invoke_arn in routes must be a function's invoke ARN, which ends in /invocations."
  }
}

variable "authorizer" {
  description = "Function that decides who may connect. API Gateway calls it for $connect only. A request that lacks any of `identity_sources` is refused without calling it."
  type = object({
    function_name    = string
    invoke_arn       = string
    identity_sources = optional(list(string), ["route.request.header.Authorization"])
  })
  default = null

  validation {
    condition     = var.authorizer == null ? true : contains(keys(var.routes), "$connect")
    error_message = "An authorizer needs the route $connect in routes."
  }
}

variable "detailed_metrics_enabled" {
  description = "Metrics for each route, in addition to those of the API. Billed as custom metrics."
  type        = bool
  default     = false
  nullable    = false
}

variable "log_retention_days" {
  description = "Days for which access logs are kept."
  type        = number
  default     = 90
  nullable    = false

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_days)
    error_message = "log_retention_days is ${var.log_retention_days}; it must be one of CloudWatch's periods: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 or 3653."
  }
}

variable "log_kms_key_arn" {
  description = "ARN of your KMS key for the logs; it must allow CloudWatch Logs. Default: the key of CloudWatch."
  type        = string
  default     = null

  validation {
    condition     = var.log_kms_key_arn == null ? true : startswith(var.log_kms_key_arn, "arn:")
    error_message = "log_kms_key_arn must be the ARN of a key."
  }
}
