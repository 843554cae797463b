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
  default     = "REST API of a Trellis application."
  nullable    = false
}

variable "stage_name" {
  description = "Name of the stage, the first part of the path of invoke_url."
  type        = string
  default     = "live"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]{1,128}$", var.stage_name))
    error_message = "stage_name is \"${var.stage_name}\"; it must be 1 to 128 letters, digits, hyphens and underscores."
  }
}

variable "endpoint_type" {
  description = "REGIONAL, EDGE (behind a CloudFront of AWS's own) or PRIVATE (reached through VPC endpoints only)."
  type        = string
  default     = "REGIONAL"
  nullable    = false

  validation {
    condition     = contains(["REGIONAL", "EDGE", "PRIVATE"], var.endpoint_type)
    error_message = "endpoint_type is \"${var.endpoint_type}\"; it must be REGIONAL, EDGE or PRIVATE."
  }
}

variable "vpc_endpoint_ids" {
  description = "VPC endpoints (of execute-api) that may reach a PRIVATE API; nothing else can."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = (var.endpoint_type == "PRIVATE") == (length(var.vpc_endpoint_ids) > 0)
    error_message = "vpc_endpoint_ids and endpoint_type = \"PRIVATE\" go together: give both or neither."
  }
}

variable "disable_execute_api_endpoint" {
  description = "Refuse requests to the API's own host name; for an API that has its own domain."
  type        = bool
  default     = false
  nullable    = false
}

variable "binary_media_types" {
  description = "Media types whose bodies reach the functions in base64, such as image/png."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "minimum_compression_bytes" {
  description = "Size from which responses are compressed if the client accepts it, 0 to 10485760. Null for no compression."
  type        = number
  default     = null

  validation {
    condition     = var.minimum_compression_bytes == null ? true : var.minimum_compression_bytes >= 0 && var.minimum_compression_bytes <= 10485760
    error_message = "minimum_compression_bytes must be from 0 to 10485760."
  }
}

variable "authorizer_function_invoke_arn" {
  description = "Invoke ARN of the function that decides who may call; the function module's invoke_arn (that function needs api_gateway_enabled). Null for no authorizer."
  type        = string
  default     = null

  validation {
    condition     = var.authorizer_function_invoke_arn == null ? true : can(regex("^arn:[a-z-]+:apigateway:.+/invocations$", var.authorizer_function_invoke_arn))
    error_message = "authorizer_function_invoke_arn must be an invoke ARN (arn:aws:apigateway:...:lambda:path/.../invocations), not the function's ARN."
  }
}

variable "authorizer_enabled" {
  description = "True if there is an authorizer. Null: if authorizer_function_invoke_arn is set. Set it to true if that ARN is known only after apply (a function that is not of the function module)."
  type        = bool
  default     = null
}

variable "authorizer_ttl_seconds" {
  description = "Seconds for which a decision is remembered for the same identity, 0 to 3600."
  type        = number
  default     = 300
  nullable    = false

  validation {
    condition     = var.authorizer_ttl_seconds >= 0 && var.authorizer_ttl_seconds <= 3600
    error_message = "authorizer_ttl_seconds is ${var.authorizer_ttl_seconds}; it must be from 0 to 3600."
  }
}

variable "authorizer_identity_source" {
  description = "What of the request identifies the caller, separated by commas: everything that the authorizer reads, since its decision is remembered by this. A request without it is refused before the authorizer is asked; so for an API that lets anonymous requests through give an empty string, and authorizer_ttl_seconds = 0."
  type        = string
  default     = "method.request.header.Authorization"
  nullable    = false

  validation {
    condition     = var.authorizer_identity_source != "" || var.authorizer_ttl_seconds == 0
    error_message = "Without authorizer_identity_source there is nothing to remember a decision by; authorizer_ttl_seconds must be 0."
  }
}

variable "create_usage_plan" {
  description = "Make a usage plan with a daily quota, and a key to it. It limits methods that demand a key."
  type        = bool
  default     = true
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

  validation {
    condition     = var.domain_name == null || var.endpoint_type == "REGIONAL"
    error_message = "domain_name needs the endpoint_type REGIONAL."
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
  description = "Burst limit, of the stage and of the usage plan."
  type        = number
  default     = 50
  nullable    = false

  validation {
    condition     = var.throttle_burst_limit >= 0 && floor(var.throttle_burst_limit) == var.throttle_burst_limit
    error_message = "throttle_burst_limit is ${var.throttle_burst_limit}; it must be a whole number, 0 or more."
  }
}

variable "throttle_rate_limit" {
  description = "Steady rate limit in requests per second, of the stage and of the usage plan."
  type        = number
  default     = 100
  nullable    = false

  validation {
    condition     = var.throttle_rate_limit >= 0
    error_message = "throttle_rate_limit is ${var.throttle_rate_limit}; it must be 0 or more."
  }
}

variable "quota_limit" {
  description = "Maximum number of requests per day with the usage plan's key."
  type        = number
  default     = 10000
  nullable    = false

  validation {
    condition     = var.quota_limit >= 1 && floor(var.quota_limit) == var.quota_limit
    error_message = "quota_limit is ${var.quota_limit}; it must be a whole number of at least 1."
  }
}

variable "cors_allow_origin" {
  description = "Origin that may read the gateway's own error responses (401, 403, 429, 5XX), or *. They hold no data, and without the header a browser shows a CORS error instead of the real one. Null sends no CORS headers. Responses of the functions are not changed."
  type        = string
  default     = "*"

  validation {
    condition     = var.cors_allow_origin == null ? true : var.cors_allow_origin == "*" || can(regex("^https?://[^/'\\s]+$", var.cors_allow_origin))
    error_message = "cors_allow_origin must be one origin such as https://app.example.com (without a path), * or null."
  }
}

variable "cors_allow_headers" {
  description = "Request headers that the gateway's own responses allow in addition to Authorization, Content-Type, X-Api-Key and X-Correlation-Id, such as your header of API keys."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for header in var.cors_allow_headers : can(regex("^[A-Za-z0-9-]+$", header))])
    error_message = "cors_allow_headers must hold names of headers, such as x-client-key."
  }
}

variable "xray_tracing_enabled" {
  description = "Trace requests with X-Ray."
  type        = bool
  default     = true
  nullable    = false
}

variable "detailed_metrics_enabled" {
  description = "Metrics for each method, in addition to those of the API. Billed as custom metrics."
  type        = bool
  default     = false
  nullable    = false
}

variable "redeployment_trigger" {
  description = "Hash of everything the API consists of (methods, integrations): each new value deploys it again. It must refer to those resources, then the deployment also waits for them. Changes of this module's own settings redeploy by themselves."
  type        = string
  default     = ""
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
