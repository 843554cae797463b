variable "origin_domain" {
  description = "Host name of the REST gateway, such as abc123.execute-api.eu-central-1.amazonaws.com, without https:// and path."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$", var.origin_domain))
    error_message = "origin_domain is \"${var.origin_domain}\"; it must be a host name, without https:// before it and a path behind it."
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

variable "origin_path" {
  description = "Put before the path of each request on its way to the origin: the gateway's stage, such as /live. Empty for none."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = var.origin_path == "" || can(regex("^/.*[^/]$", var.origin_path))
    error_message = "origin_path is \"${var.origin_path}\"; it must start with / and not end with it, or be empty."
  }
}

variable "origin_secret_header" {
  description = "Header that CloudFront adds to each request to the origin, by which a function recognizes requests that came through it. getClientAddress() of the package reads the default."
  type        = string
  default     = "X-Origin-Verify"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9-]+$", var.origin_secret_header))
    error_message = "origin_secret_header is \"${var.origin_secret_header}\"; it must be the name of a header."
  }

  validation {
    condition     = !contains([for header in concat(var.forwarded_headers, var.origin_headers) : lower(header)], lower(var.origin_secret_header))
    error_message = "origin_secret_header must not be among forwarded_headers and origin_headers; without origin_secret a viewer could send it."
  }
}

variable "origin_secret" {
  description = "Value of origin_secret_header; null to add none. Functions that have it as ORIGIN_VERIFY_SECRET take the viewer's address from CloudFront, and from no other caller. It is kept in the state, so the state must be a secret too."
  type        = string
  default     = null
  sensitive   = true

  validation {
    condition     = var.origin_secret == null ? true : length(var.origin_secret) >= 16
    error_message = "origin_secret must have at least 16 characters."
  }

  validation {
    condition     = var.origin_secret == null ? true : can(regex("^[!-+./-~-]+$", var.origin_secret))
    error_message = "origin_secret must be printable ASCII without spaces and commas."
  }
}

variable "forwarded_headers" {
  description = "Headers of the viewer that reach the origin and are part of the cache key, at most ten with Origin, which always is. Host must not be among them: the gateway answers 403 to a name that is not its own."
  type        = list(string)
  default     = ["Authorization", "X-Api-Key"]
  nullable    = false

  validation {
    condition     = !contains([for header in var.forwarded_headers : lower(header)], "host")
    error_message = "forwarded_headers must not hold Host; a REST gateway answers 403 to a host name that is not its own."
  }

  validation {
    condition     = length(setunion([for header in var.forwarded_headers : lower(header)], ["origin"])) <= 10
    error_message = "forwarded_headers must have at most ten entries with Origin; CloudFront allows no more."
  }

  validation {
    condition     = alltrue([for header in var.forwarded_headers : can(regex("^[A-Za-z0-9-]+$", header))])
    error_message = "forwarded_headers must hold names of headers; wildcards are not offered."
  }
}

variable "origin_headers" {
  description = "Further headers of the viewer that reach the origin, at most nine; they are not part of the cache key. The default is what a check of cross-site requests needs. Add User-Agent, Accept, X-Correlation-Id, or a webhook's signature where the API reads them."
  type        = list(string)
  default     = ["Access-Control-Request-Headers", "Access-Control-Request-Method", "Referer", "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site"]
  nullable    = false

  validation {
    condition     = alltrue([for header in ["host", "authorization", "accept-encoding", "cloudfront-viewer-address"] : !contains([for given in var.origin_headers : lower(given)], header)])
    error_message = "origin_headers must not hold Host (a gateway answers 403 to a name that is not its own), Authorization and Accept-Encoding (CloudFront takes them in forwarded_headers only), or CloudFront-Viewer-Address (it is forwarded anyway)."
  }

  validation {
    condition     = length(var.origin_headers) <= 9
    error_message = "origin_headers must have at most nine entries; CloudFront allows ten with the viewer's address."
  }

  validation {
    condition     = alltrue([for header in var.origin_headers : can(regex("^[A-Za-z0-9-]+$", header))])
    error_message = "origin_headers must hold names of headers; wildcards are not offered."
  }
}

variable "bucket_origins" {
  description = "Buckets whose objects are served in place of the API, by path pattern such as /assets/*: the storage module's bucket_regional_domain_name. The whole path is the key of the object. Give the module of each bucket the distribution_arn in reader_distribution_arns."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for pattern in keys(var.bucket_origins) : can(regex("^/[A-Za-z0-9_.$/~\"'@:+*?-]+$", pattern)) && pattern != "/*"])
    error_message = "Keys of bucket_origins must be path patterns such as /assets/*, and not /*, which would hide the API."
  }

  validation {
    condition     = alltrue([for domain in values(var.bucket_origins) : can(regex("\\.s3[.-][a-z0-9.-]+$", domain))])
    error_message = "Values of bucket_origins must be regional host names of buckets (<bucket>.s3.<region>.amazonaws.com)."
  }
}

variable "cache_max_seconds" {
  description = "Longest time for which CloudFront keeps a response that says it may be kept (Cache-Control). Responses that say nothing are never kept."
  type        = number
  default     = 1
  nullable    = false

  validation {
    condition     = var.cache_max_seconds >= 1 && var.cache_max_seconds <= 31536000
    error_message = "cache_max_seconds is ${var.cache_max_seconds}; it must be from 1 to 31536000. With 0 CloudFront would forward neither Authorization nor any other header."
  }
}

variable "lambda_edge_associations" {
  description = "Edge functions: `event_type` is viewer-request, origin-request, origin-response or viewer-response, `lambda_arn` names a version (the function module's qualified_arn), `include_body` hands over the body of a request."
  type = list(object({
    event_type   = string
    lambda_arn   = string
    include_body = optional(bool, false)
  }))
  default  = []
  nullable = false

  validation {
    condition     = alltrue([for association in var.lambda_edge_associations : contains(["viewer-request", "origin-request", "origin-response", "viewer-response"], association.event_type)])
    error_message = "The event_type of each of lambda_edge_associations must be viewer-request, origin-request, origin-response or viewer-response."
  }

  validation {
    condition     = length(distinct(var.lambda_edge_associations[*].event_type)) == length(var.lambda_edge_associations)
    error_message = "lambda_edge_associations must have at most one function for each event_type."
  }

  validation {
    condition     = alltrue([for association in var.lambda_edge_associations : can(regex("^arn:[a-z-]+:lambda:us-east-1:[0-9]+:function:[^:]+:[0-9]+$", association.lambda_arn))])
    error_message = "Each lambda_arn in lambda_edge_associations must name a version of a function in us-east-1 (arn:aws:lambda:us-east-1:...:function:name:1)."
  }

  validation {
    condition     = alltrue([for association in var.lambda_edge_associations : !association.include_body || endswith(association.event_type, "-request")])
    error_message = "include_body in lambda_edge_associations is for viewer-request and origin-request only."
  }
}

variable "enable_security_headers" {
  description = "Add HSTS, nosniff, frame and referrer headers to the responses."
  type        = bool
  default     = true
  nullable    = false
}

variable "price_class" {
  description = "Where CloudFront serves from: PriceClass_100 (Europe and North America), PriceClass_200 or PriceClass_All."
  type        = string
  default     = "PriceClass_100"
  nullable    = false

  validation {
    condition     = contains(["PriceClass_100", "PriceClass_200", "PriceClass_All"], var.price_class)
    error_message = "price_class is \"${var.price_class}\"; it must be PriceClass_100, PriceClass_200 or PriceClass_All."
  }
}

variable "geo_restriction_type" {
  description = "Which countries are served: none (all), whitelist (those of geo_restriction_locations) or blacklist (all but those)."
  type        = string
  default     = "none"
  nullable    = false

  validation {
    condition     = contains(["none", "whitelist", "blacklist"], var.geo_restriction_type)
    error_message = "geo_restriction_type is \"${var.geo_restriction_type}\"; it must be none, whitelist or blacklist."
  }
}

variable "geo_restriction_locations" {
  description = "Countries by their two letters (ISO 3166-1), such as DE."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for country in var.geo_restriction_locations : can(regex("^[A-Z]{2}$", country))])
    error_message = "geo_restriction_locations must hold countries by their two capital letters."
  }

  validation {
    condition     = (var.geo_restriction_type == "none") == (length(var.geo_restriction_locations) == 0)
    error_message = "geo_restriction_locations goes with geo_restriction_type whitelist or blacklist, which needs at least one."
  }
}

variable "aliases" {
  description = "Your host names; they need certificate_arn."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = (length(var.aliases) > 0) == (var.certificate_arn != null)
    error_message = "aliases and certificate_arn go together: give both or neither."
  }
}

variable "certificate_arn" {
  description = "ARN of the certificate for aliases; it must be in us-east-1."
  type        = string
  default     = null

  validation {
    condition     = var.certificate_arn == null ? true : can(regex("^arn:[a-z-]+:acm:us-east-1:", var.certificate_arn))
    error_message = "certificate_arn must be the ARN of a certificate in us-east-1; CloudFront takes no other."
  }
}

variable "web_acl_arn" {
  description = "ARN of a web application firewall (scope CLOUDFRONT)."
  type        = string
  default     = null
}

variable "access_log_bucket_domain_name" {
  description = "Host name of the bucket for the access log (`<bucket>.s3.amazonaws.com`); its policy must let delivery.logs.amazonaws.com write. Null for no log: the gateway has one."
  type        = string
  default     = null

  validation {
    condition     = var.access_log_bucket_domain_name == null ? true : can(regex("^[a-z0-9][a-z0-9.-]+\\.s3[.-].*amazonaws\\.com(\\.cn)?$", var.access_log_bucket_domain_name))
    error_message = "access_log_bucket_domain_name must be the host name of a bucket, such as logs.s3.amazonaws.com."
  }
}
