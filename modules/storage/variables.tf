variable "bucket_name" {
  description = "Short name of the bucket: lower-case letters, digits and hyphens. The bucket is called `<name_prefix>-<bucket_name>`, with project_name before it if that is set; at most 63 characters in all."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", var.bucket_name))
    error_message = "bucket_name is \"${var.bucket_name}\"; it must be lower-case letters, digits and hyphens, without a hyphen at either end."
  }

  validation {
    condition     = length(join("-", compact([var.project_name, var.name_prefix, var.bucket_name]))) <= 63
    error_message = "\"${join("-", compact([var.project_name, var.name_prefix, var.bucket_name]))}\" is too long: project_name, name_prefix and bucket_name together must have at most 63 characters."
  }
}

variable "name_prefix" {
  description = "Start of every name; the core module's output."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,59}$", var.name_prefix))
    error_message = "name_prefix is \"${var.name_prefix}\"; for a bucket it must start with a lower-case letter and hold lower-case letters, digits and hyphens only."
  }
}

variable "tags" {
  description = "Tags for everything that is made; the core module's common_tags."
  type        = map(string)
  nullable    = false
}

variable "project_name" {
  description = "Word that makes the name unique in the world, put first: all accounts share the names of buckets. A company's name, for instance."
  type        = string
  default     = null

  validation {
    condition     = var.project_name == null ? true : can(regex("^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", var.project_name))
    error_message = "project_name must be lower-case letters, digits and hyphens, without a hyphen at either end."
  }
}

variable "force_destroy" {
  description = "Delete the objects along with the bucket. Without it a bucket that holds something cannot be destroyed."
  type        = bool
  default     = false
  nullable    = false
}

variable "versioning_enabled" {
  description = "Keep what was overwritten or deleted, for noncurrent_version_days."
  type        = bool
  default     = true
  nullable    = false
}

variable "noncurrent_version_days" {
  description = "Days for which overwritten and deleted objects are kept."
  type        = number
  default     = 90
  nullable    = false

  validation {
    condition     = var.noncurrent_version_days >= 1 && floor(var.noncurrent_version_days) == var.noncurrent_version_days
    error_message = "noncurrent_version_days is ${var.noncurrent_version_days}; it must be a whole number of at least 1."
  }
}

variable "expiration_days" {
  description = "Days after which objects are deleted. Null to keep them."
  type        = number
  default     = null

  validation {
    condition     = var.expiration_days == null ? true : var.expiration_days >= 1
    error_message = "expiration_days must be at least 1, or null."
  }
}

variable "intelligent_tiering_enabled" {
  description = "Move objects to the storage class that grows cheaper for what is seldom read. It costs a small fee for each object above 128 KB."
  type        = bool
  default     = false
  nullable    = false
}

variable "transfer_acceleration_enabled" {
  description = "Take uploads in at the nearest edge location. Billed by the gigabyte."
  type        = bool
  default     = false
  nullable    = false
}

variable "kms_key_arn" {
  description = "ARN of your KMS key for the objects. Default: the key of S3 (AES-256). With the CDN the key must allow cloudfront.amazonaws.com."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null ? true : startswith(var.kms_key_arn, "arn:")
    error_message = "kms_key_arn must be the ARN of a key."
  }
}

variable "access_log_bucket" {
  description = "Name of the bucket for the access log, under `<bucket>/`; it must allow logging.s3.amazonaws.com. Null for no access log."
  type        = string
  default     = null
}

variable "cors_allowed_origins" {
  description = "Origins whose pages may use the bucket (with pre-signed URLs), such as https://app.example.com. Empty for none."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for origin in var.cors_allowed_origins : origin == "*" || can(regex("^https?://[^/\\s]+$", origin))])
    error_message = "Each of cors_allowed_origins must be an origin such as https://app.example.com (without a path), or *."
  }
}

variable "cors_allowed_methods" {
  description = "Methods that these origins may use."
  type        = list(string)
  default     = ["GET", "HEAD", "POST", "PUT"]
  nullable    = false

  validation {
    condition     = length(var.cors_allowed_methods) > 0 && alltrue([for method in var.cors_allowed_methods : contains(["DELETE", "GET", "HEAD", "POST", "PUT"], method)])
    error_message = "Each of cors_allowed_methods must be DELETE, GET, HEAD, POST or PUT."
  }
}

variable "eventbridge_notifications_enabled" {
  description = "Send what happens in the bucket to the account's default event bus."
  type        = bool
  default     = false
  nullable    = false
}

variable "lambda_notifications" {
  description = "Functions that are invoked when something happens in the bucket: `function_arn`, `events` (s3:ObjectCreated:* and the like), and the part of the keys by `filter_prefix` and `filter_suffix`. The permission is created too."
  type = list(object({
    function_arn  = string
    events        = optional(list(string), ["s3:ObjectCreated:*"])
    filter_prefix = optional(string)
    filter_suffix = optional(string)
  }))
  default  = []
  nullable = false

  validation {
    condition     = alltrue([for notification in var.lambda_notifications : can(regex("^arn:[a-z-]+:lambda:", notification.function_arn))])
    error_message = "Each function_arn in lambda_notifications must be the ARN of a function."
  }

  validation {
    condition     = alltrue(flatten([for notification in var.lambda_notifications : length(notification.events) > 0 && alltrue([for event in notification.events : can(regex("^s3:[A-Za-z]+:[A-Za-z*:]+$", event))])]))
    error_message = "Each entry of lambda_notifications needs events such as s3:ObjectCreated:*."
  }
}

variable "cloudfront_enabled" {
  description = "Hand the objects out through CloudFront. The bucket stays private; only this distribution may read it."
  type        = bool
  default     = false
  nullable    = false
}

variable "reader_distribution_arns" {
  description = "ARNs of CloudFront distributions elsewhere that may read the objects, such as the cdn-api module's distribution_arn."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for arn in var.reader_distribution_arns : can(regex("^arn:[a-z-]+:cloudfront::", arn))])
    error_message = "Each of reader_distribution_arns must be the ARN of a distribution."
  }
}

variable "cloudfront_price_class" {
  description = "Where CloudFront serves from: PriceClass_100 (Europe and North America), PriceClass_200 or PriceClass_All."
  type        = string
  default     = "PriceClass_100"
  nullable    = false

  validation {
    condition     = contains(["PriceClass_100", "PriceClass_200", "PriceClass_All"], var.cloudfront_price_class)
    error_message = "cloudfront_price_class is \"${var.cloudfront_price_class}\"; it must be PriceClass_100, PriceClass_200 or PriceClass_All."
  }
}

variable "cloudfront_default_root_object" {
  description = "Object for the path /, such as index.html. Empty for none."
  type        = string
  default     = ""
  nullable    = false
}

variable "cloudfront_aliases" {
  description = "Your host names of the CDN; they need cloudfront_certificate_arn."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = (length(var.cloudfront_aliases) > 0) == (var.cloudfront_certificate_arn != null)
    error_message = "cloudfront_aliases and cloudfront_certificate_arn go together: give both or neither."
  }
}

variable "cloudfront_certificate_arn" {
  description = "ARN of the certificate for cloudfront_aliases; it must be in us-east-1."
  type        = string
  default     = null

  validation {
    condition     = var.cloudfront_certificate_arn == null ? true : can(regex("^arn:[a-z-]+:acm:us-east-1:", var.cloudfront_certificate_arn))
    error_message = "cloudfront_certificate_arn must be the ARN of a certificate in us-east-1; CloudFront takes no other."
  }
}

variable "web_acl_arn" {
  description = "ARN of a web application firewall (scope CLOUDFRONT) for the CDN."
  type        = string
  default     = null
}
