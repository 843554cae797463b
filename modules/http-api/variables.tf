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
  default     = "HTTP API of a Trellis application."
  nullable    = false
}

variable "routes" {
  description = "Functions by route key, such as `GET /notes/{noteId}`, `ANY /{proxy+}` or `$default`. `invoke_arn` is the function module's output (that function needs api_gateway_enabled). `authorization` is NONE, CUSTOM (authorizer) or JWT (jwt)."
  type = map(object({
    invoke_arn    = string
    authorization = optional(string, "NONE")
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for key in keys(var.routes) : key == "$default" || can(regex("^(ANY|DELETE|GET|HEAD|OPTIONS|PATCH|POST|PUT) /[^\\s]*$", key))])
    error_message = "Keys of routes must be a method and a path, such as \"GET /notes\", or $default."
  }

  validation {
    condition     = alltrue([for route in values(var.routes) : can(regex("/invocations$", route.invoke_arn))])
    error_message = "Each invoke_arn in routes must be a function's invoke ARN, which ends in /invocations."
  }

  validation {
    condition     = alltrue([for route in values(var.routes) : contains(["NONE", "CUSTOM", "JWT"], route.authorization)])
    error_message = "authorization in routes must be NONE, CUSTOM or JWT."
  }
}

variable "authorizer" {
  description = "Function that decides about routes with the authorization CUSTOM. A request that lacks any of `identity_sources` is refused without calling it; with an empty list, and `ttl_seconds = 0`, the function decides about every request."
  type = object({
    invoke_arn       = string
    identity_sources = optional(list(string), ["$request.header.Authorization"])
    ttl_seconds      = optional(number, 300)
  })
  default = null

  validation {
    condition     = var.authorizer == null ? true : can(regex("/invocations$", var.authorizer.invoke_arn))
    error_message = "The authorizer's invoke_arn must be a function's invoke ARN, which ends in /invocations."
  }

  validation {
    condition     = var.authorizer == null ? true : alltrue([for source in var.authorizer.identity_sources : can(regex("^\\$(request\\.(header|querystring)|context|stageVariables)\\.[^\\s,]+$", source))])
    error_message = "The authorizer's identity_sources must be $request.header.<name>, $request.querystring.<name>, $context.<name> or $stageVariables.<name>."
  }

  validation {
    condition     = var.authorizer == null ? true : var.authorizer.ttl_seconds >= 0 && var.authorizer.ttl_seconds <= 3600 && (var.authorizer.ttl_seconds == 0 || length(var.authorizer.identity_sources) > 0)
    error_message = "The authorizer's ttl_seconds must be from 0 to 3600, and 0 without identity_sources: there is nothing to remember a decision by."
  }

  validation {
    condition     = var.authorizer != null || !contains(values(var.routes)[*].authorization, "CUSTOM")
    error_message = "Routes with the authorization CUSTOM need an authorizer."
  }
}

variable "jwt" {
  description = "Tokens that routes with the authorization JWT accept: the `issuer`, and the values of `aud` or `client_id` in `audience`. The gateway loads the keys from the issuer's discovery document."
  type = object({
    issuer          = string
    audience        = list(string)
    identity_source = optional(string, "$request.header.Authorization")
  })
  default = null

  validation {
    condition     = var.jwt == null ? true : can(regex("^https://[^\\s?#]+$", var.jwt.issuer)) && length(var.jwt.audience) > 0
    error_message = "jwt needs an issuer, which begins with https://, and at least one audience."
  }

  validation {
    condition     = var.jwt != null || !contains(values(var.routes)[*].authorization, "JWT")
    error_message = "Routes with the authorization JWT need jwt."
  }
}

variable "disable_execute_api_endpoint" {
  description = "Refuse requests to the API's own host name; for an API that has its own domain."
  type        = bool
  default     = false
  nullable    = false
}

variable "domain_name" {
  description = "Host name of the API, such as api.example.com. With hosted_zone_id the certificate and the DNS records are created too; otherwise set certificate_arn, and point the name to regional_domain_name yourself."
  type        = string
  default     = null

  validation {
    condition     = var.domain_name == null ? true : can(regex("^([a-z0-9]([a-z0-9-]*[a-z0-9])?\\.)+[a-z]{2,}$", var.domain_name)) && length(var.domain_name) <= 253
    error_message = "domain_name must be a host name in lower case, such as api.example.com."
  }

  validation {
    condition     = var.domain_name == null || var.hosted_zone_id != null || var.certificate_arn != null
    error_message = "domain_name needs hosted_zone_id, or the certificate_arn of a certificate that you have."
  }
}

variable "hosted_zone_id" {
  description = "Id of the Route 53 zone in which the records of domain_name are made."
  type        = string
  default     = null

  validation {
    condition     = var.hosted_zone_id == null ? true : can(regex("^Z[A-Z0-9]{1,31}$", var.hosted_zone_id))
    error_message = "hosted_zone_id must be the id of a zone, such as Z0123456789ABCDEFGHIJ."
  }
}

variable "certificate_arn" {
  description = "ARN of a certificate of this region for domain_name. Without one a certificate is created and validated by DNS."
  type        = string
  default     = null

  validation {
    condition     = var.certificate_arn == null ? true : can(regex("^arn:aws[a-z-]*:acm:", var.certificate_arn))
    error_message = "certificate_arn must be the ARN of a certificate of ACM."
  }
}

variable "throttle_burst_limit" {
  description = "Burst limit."
  type        = number
  default     = 50
  nullable    = false

  validation {
    condition     = var.throttle_burst_limit >= 0 && floor(var.throttle_burst_limit) == var.throttle_burst_limit
    error_message = "throttle_burst_limit is ${var.throttle_burst_limit}; it must be a whole number, 0 or more."
  }
}

variable "throttle_rate_limit" {
  description = "Steady rate limit in requests per second."
  type        = number
  default     = 100
  nullable    = false

  validation {
    condition     = var.throttle_rate_limit >= 0
    error_message = "throttle_rate_limit is ${var.throttle_rate_limit}; it must be 0 or more."
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
