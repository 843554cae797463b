variable "function_name" {
  description = "Short name of the function: letters, digits, hyphens and underscores. The function is called `<name_prefix>-<function_name>`, at most 64 characters in all."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]+$", var.function_name)) && length("${var.name_prefix}-${var.function_name}") <= 64
    error_message = "function_name is \"${var.function_name}\"; it must be letters, digits, hyphens and underscores, and with name_prefix at most 64 characters."
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

variable "source_dir" {
  description = "Folder with the built function; its whole content becomes the package. It must exist when the plan is made. For images give an empty string."
  type        = string
  nullable    = false

  validation {
    condition     = var.package_type == "Image" || length(var.source_dir) > 0
    error_message = "source_dir must be the folder of the built function, unless package_type is Image."
  }
}

variable "assume_role_policy" {
  description = "Policy (JSON) that says who may take on the function's role; the core module's function_assume_role_policy, or edge_function_assume_role_policy for edge functions."
  type        = string
  nullable    = false

  validation {
    condition     = can(jsondecode(var.assume_role_policy).Statement)
    error_message = "assume_role_policy must be a policy in JSON; the core module's outputs are."
  }
}

variable "region" {
  description = "Region that is deployed to; the core module's output."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]+$", var.region))
    error_message = "region is \"${var.region}\"; it must be a region such as eu-central-1."
  }

  validation {
    condition     = !var.is_edge_function || var.region == "us-east-1"
    error_message = "region is \"${var.region}\"; an edge function must be made in us-east-1: CloudFront copies it to the edge from there."
  }
}

variable "account_id" {
  description = "Number of the account that is deployed to; the core module's output."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[0-9]{12}$", var.account_id))
    error_message = "account_id is \"${var.account_id}\"; it must have twelve digits."
  }
}

variable "environment" {
  description = "Stage of deployment: dev, staging, prod or any other name, such as preview-42. The function finds it in the variable ENVIRONMENT, and logs are kept for a year in prod."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9]*(-[a-z0-9]+)*$", var.environment)) && length(var.environment) <= 20
    error_message = "environment is \"${var.environment}\"; it must be lower-case letters, digits and single hyphens, start with a letter and have at most 20 characters."
  }
}

variable "description" {
  description = "Description of the function."
  type        = string
  default     = null

  validation {
    condition     = var.description == null ? true : length(var.description) <= 256
    error_message = "description must have at most 256 characters."
  }
}

variable "handler" {
  description = "File and exported name that Lambda calls. Not used for images."
  type        = string
  default     = "index.handler"
  nullable    = false
}

variable "runtime" {
  description = "Lambda runtime. Not used for images."
  type        = string
  default     = "nodejs24.x"
  nullable    = false

  validation {
    condition     = can(regex("^(nodejs|python|ruby|java|dotnet|provided)[a-z0-9.]*$", var.runtime))
    error_message = "runtime is \"${var.runtime}\"; it must be a Lambda runtime such as nodejs24.x."
  }
}

variable "architecture" {
  description = "Processor: arm64 (a fifth cheaper) or x86_64. Edge functions are always x86_64."
  type        = string
  default     = "arm64"
  nullable    = false

  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "architecture is \"${var.architecture}\"; it must be arm64 or x86_64."
  }
}

variable "memory_size" {
  description = "Memory in MB, 128 to 10240. The processor's share grows with it; 1769 MB is one whole core."
  type        = number
  default     = 512
  nullable    = false

  validation {
    condition     = var.memory_size >= 128 && var.memory_size <= 10240 && floor(var.memory_size) == var.memory_size
    error_message = "memory_size is ${var.memory_size}; it must be a whole number from 128 to 10240 (MB)."
  }
}

variable "timeout" {
  description = "Seconds after which an invocation is stopped, 1 to 900; at most 30 for edge functions. A REST API waits at most 29 s."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = var.timeout >= 1 && var.timeout <= 900 && floor(var.timeout) == var.timeout
    error_message = "timeout is ${var.timeout}; it must be a whole number from 1 to 900 (seconds)."
  }

  validation {
    condition     = !var.is_edge_function || var.timeout <= 30
    error_message = "timeout is ${var.timeout}; an edge function has at most 30 seconds."
  }
}

variable "ephemeral_storage" {
  description = "Size of /tmp in MB, 512 to 10240. The first 512 cost nothing."
  type        = number
  default     = 512
  nullable    = false

  validation {
    condition     = var.ephemeral_storage >= 512 && var.ephemeral_storage <= 10240 && floor(var.ephemeral_storage) == var.ephemeral_storage
    error_message = "ephemeral_storage is ${var.ephemeral_storage}; it must be a whole number from 512 to 10240 (MB)."
  }

  validation {
    condition     = !var.is_edge_function || var.ephemeral_storage == 512
    error_message = "An edge function has 512 MB of ephemeral_storage, no more."
  }
}

variable "environment_variables" {
  description = "Environment of the function. Not for secrets: everyone who can read the function's configuration can read them. Edge functions have none."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for name in keys(var.environment_variables) : can(regex("^[A-Za-z][A-Za-z0-9_]*$", name))])
    error_message = "Names in environment_variables must start with a letter and hold letters, digits and underscores only."
  }

  validation {
    condition     = alltrue([for name in keys(var.environment_variables) : !startswith(name, "AWS_LAMBDA_") || contains(["AWS_LAMBDA_EXEC_WRAPPER", "AWS_LAMBDA_MAX_CONCURRENCY"], name)])
    error_message = "environment_variables must not hold names that start with AWS_LAMBDA_; Lambda keeps these for itself."
  }

  validation {
    condition     = !var.is_edge_function || length(var.environment_variables) == 0
    error_message = "Edge functions cannot have environment_variables."
  }
}

variable "alias_name" {
  description = "Name of an alias, such as live, through which all triggers invoke the function. Each change publishes a version, and the alias stays at its version until a release moves it (trellis deploy does). Without a name triggers invoke the newest code."
  type        = string
  default     = null

  validation {
    condition     = var.alias_name == null ? true : can(regex("^[A-Za-z][A-Za-z0-9_-]{0,63}$", var.alias_name))
    error_message = "alias_name must start with a letter and hold letters, digits, hyphens and underscores, at most 64."
  }

  validation {
    condition     = var.alias_name == null || !var.is_edge_function
    error_message = "Edge functions cannot have an alias_name: CloudFront takes a version."
  }
}

variable "provisioned_concurrency" {
  description = "Sandboxes of the alias that are started in advance. 0 starts them on demand. They cost money without requests."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.provisioned_concurrency >= 0 && floor(var.provisioned_concurrency) == var.provisioned_concurrency
    error_message = "provisioned_concurrency must be a whole number from 0."
  }

  validation {
    condition     = var.provisioned_concurrency == 0 || var.alias_name != null
    error_message = "provisioned_concurrency needs an alias_name."
  }
}

variable "kms_key_arn" {
  description = "ARN of your KMS key for the environment variables. Default: the key of Lambda."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null ? true : startswith(var.kms_key_arn, "arn:")
    error_message = "kms_key_arn must be the ARN of a key."
  }
}

variable "layers" {
  description = "ARNs of layer versions, at most five, in the order in which they are merged."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = length(var.layers) <= 5
    error_message = "layers must have at most five entries."
  }

  validation {
    condition     = alltrue([for arn in var.layers : can(regex(":layer:[^:]+:[0-9]+$", arn))])
    error_message = "Each of layers must be the ARN of a layer version, with the version's number at its end."
  }

  validation {
    condition     = length(var.layers) == 0 || (!var.is_edge_function && var.package_type == "Zip")
    error_message = "Edge functions and images cannot have layers."
  }
}

variable "additional_policy_arns" {
  description = "ARNs of additional policies of the function's role."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = length(var.additional_policy_arns) <= 10
    error_message = "additional_policy_arns must have at most ten entries; IAM allows no more for one role."
  }
}

variable "inline_policies" {
  description = "Policies (JSON) that the function's role gets, by name. The policy outputs of the other modules fit here."
  type        = map(string)
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for policy in values(var.inline_policies) : can(jsondecode(policy).Statement)])
    error_message = "Each of inline_policies must be a policy in JSON."
  }

  validation {
    condition     = !contains(keys(var.inline_policies), "runtime")
    error_message = "The name \"runtime\" in inline_policies is taken by the module's own policy."
  }
}

variable "permissions_boundary_arn" {
  description = "ARN of the permissions boundary of the roles, if the account requires one."
  type        = string
  default     = null
}

variable "api_gateway_enabled" {
  description = "Let API Gateway invoke the function: as the target of a method or as an authorizer."
  type        = bool
  default     = false
  nullable    = false

  validation {
    condition     = !(var.api_gateway_enabled && var.is_edge_function)
    error_message = "Edge functions are invoked by CloudFront only; api_gateway_enabled must be false."
  }
}

variable "api_gateway_execution_arn" {
  description = "Execution ARN of the one API that may invoke the function; the rest-api module's rest_api_execution_arn. Null for every API of this account and region."
  type        = string
  default     = null

  validation {
    condition     = var.api_gateway_execution_arn == null ? true : can(regex("^arn:[a-z-]+:execute-api:", var.api_gateway_execution_arn))
    error_message = "api_gateway_execution_arn must be the execution ARN of an API (arn:aws:execute-api:...)."
  }
}

variable "sqs_trigger_arn" {
  description = "ARN of the queue that invokes the function. Only failed messages are delivered again (the handler reports them)."
  type        = string
  default     = null

  validation {
    condition     = var.sqs_trigger_arn == null ? true : can(regex("^arn:[a-z-]+:sqs:", var.sqs_trigger_arn))
    error_message = "sqs_trigger_arn must be the ARN of a queue (arn:aws:sqs:...)."
  }

  validation {
    condition     = var.sqs_trigger_arn == null ? true : !var.is_edge_function
    error_message = "Edge functions are invoked by CloudFront only; sqs_trigger_arn must be null."
  }
}

variable "sqs_trigger_enabled" {
  description = "True if there is a queue. Null: if sqs_trigger_arn is set. Set it to true if that ARN is known only after apply (a queue that is not of the queue module)."
  type        = bool
  default     = null
}

variable "sqs_batch_size" {
  description = "Maximum number of messages in one invocation, 1 to 10000; more than 10 needs sqs_batching_window_seconds."
  type        = number
  default     = 10
  nullable    = false

  validation {
    condition     = var.sqs_batch_size >= 1 && var.sqs_batch_size <= 10000
    error_message = "sqs_batch_size is ${var.sqs_batch_size}; it must be from 1 to 10000."
  }

  validation {
    condition     = var.sqs_batch_size <= 10 || var.sqs_batching_window_seconds >= 1
    error_message = "sqs_batch_size is ${var.sqs_batch_size}; more than 10 needs sqs_batching_window_seconds of at least 1."
  }
}

variable "sqs_batching_window_seconds" {
  description = "Seconds for which messages are gathered before the function is invoked, 0 to 300."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.sqs_batching_window_seconds >= 0 && var.sqs_batching_window_seconds <= 300
    error_message = "sqs_batching_window_seconds is ${var.sqs_batching_window_seconds}; it must be from 0 to 300."
  }
}

variable "sqs_maximum_concurrency" {
  description = "Maximum number of concurrent invocations for the queue, 2 to 1000. Null for no limit."
  type        = number
  default     = null

  validation {
    condition     = var.sqs_maximum_concurrency == null ? true : var.sqs_maximum_concurrency >= 2 && var.sqs_maximum_concurrency <= 1000
    error_message = "sqs_maximum_concurrency must be from 2 to 1000, or null."
  }
}

variable "sqs_filter_patterns" {
  description = "Patterns (JSON) of the messages that invoke the function: one match is enough. SQS deletes the others. Empty for all messages."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = length(var.sqs_filter_patterns) <= 10 && alltrue([for pattern in var.sqs_filter_patterns : can(keys(jsondecode(pattern)))])
    error_message = "sqs_filter_patterns must be at most ten patterns, each a JSON object such as {\"body\":{\"kind\":[\"order\"]}}."
  }
}

variable "stream_trigger" {
  description = "Kinesis data stream (service = \"kinesis\") or DynamoDB stream (\"dynamodb\") whose records the function processes in order. Null for none. A failed batch is retried from the first record that failed, and its position goes to failure_destination_arn (a queue or a topic) after maximum_retry_attempts; -1 retries until the record expires."
  type = object({
    arn                        = string
    service                    = string
    starting_position          = optional(string, "TRIM_HORIZON")
    batch_size                 = optional(number, 100)
    batching_window_seconds    = optional(number, 0)
    bisect_on_error            = optional(bool, true)
    maximum_retry_attempts     = optional(number, 10)
    maximum_record_age_seconds = optional(number, -1)
    parallelization_factor     = optional(number, 1)
    filter_patterns            = optional(list(string), [])
    failure_destination_arn    = optional(string)
  })
  default = null

  validation {
    condition     = var.stream_trigger == null ? true : contains(["kinesis", "dynamodb"], var.stream_trigger.service) && can(regex("^arn:[a-z-]+:${var.stream_trigger.service}:", var.stream_trigger.arn))
    error_message = "stream_trigger needs service = \"kinesis\" or \"dynamodb\" and the ARN of such a stream."
  }

  validation {
    condition     = var.stream_trigger == null ? true : contains(["TRIM_HORIZON", "LATEST"], var.stream_trigger.starting_position)
    error_message = "stream_trigger.starting_position must be TRIM_HORIZON (the oldest record) or LATEST."
  }

  validation {
    condition     = var.stream_trigger == null ? true : var.stream_trigger.batch_size >= 1 && var.stream_trigger.batch_size <= (var.stream_trigger.service == "kinesis" ? 10000 : 1000) && var.stream_trigger.batching_window_seconds >= 0 && var.stream_trigger.batching_window_seconds <= 300
    error_message = "stream_trigger.batch_size must be from 1 to 10000 (DynamoDB: 1000), and batching_window_seconds from 0 to 300."
  }

  validation {
    condition     = var.stream_trigger == null ? true : var.stream_trigger.maximum_retry_attempts >= -1 && var.stream_trigger.maximum_retry_attempts <= 10000 && (var.stream_trigger.maximum_record_age_seconds == -1 || (var.stream_trigger.maximum_record_age_seconds >= 60 && var.stream_trigger.maximum_record_age_seconds <= 604800))
    error_message = "stream_trigger.maximum_retry_attempts must be from -1 to 10000, and maximum_record_age_seconds -1 or from 60 to 604800."
  }

  validation {
    condition     = var.stream_trigger == null ? true : contains(range(1, 11), var.stream_trigger.parallelization_factor)
    error_message = "stream_trigger.parallelization_factor must be from 1 to 10."
  }

  validation {
    condition     = var.stream_trigger == null ? true : alltrue([for pattern in var.stream_trigger.filter_patterns : can(keys(jsondecode(pattern)))])
    error_message = "Each of stream_trigger.filter_patterns must be a JSON object."
  }

  validation {
    condition     = var.stream_trigger == null ? true : !var.is_edge_function
    error_message = "Edge functions are invoked by CloudFront only; stream_trigger must be null."
  }
}

variable "kafka_trigger" {
  description = "Topic of an Amazon MSK cluster (cluster_arn) or of other brokers (bootstrap_servers) whose records the function processes in order. Null for none. partial_failures, bisect_on_error, maximum_retry_attempts and maximum_record_age_seconds need provisioned_pollers; without them Lambda retries whole batches."
  type = object({
    cluster_arn                = optional(string)
    bootstrap_servers          = optional(list(string), [])
    topic                      = string
    consumer_group_id          = string
    starting_position          = optional(string, "TRIM_HORIZON")
    batch_size                 = optional(number, 100)
    batching_window_seconds    = optional(number, 0)
    source_access              = optional(list(object({ type = string, uri = string })), [])
    provisioned_pollers        = optional(object({ minimum = number, maximum = number }))
    partial_failures           = optional(bool, false)
    bisect_on_error            = optional(bool, true)
    maximum_retry_attempts     = optional(number, 10)
    maximum_record_age_seconds = optional(number, -1)
    filter_patterns            = optional(list(string), [])
    failure_destination_arn    = optional(string)
  })
  default = null

  validation {
    condition     = var.kafka_trigger == null ? true : (var.kafka_trigger.cluster_arn == null) != (length(var.kafka_trigger.bootstrap_servers) == 0)
    error_message = "kafka_trigger needs cluster_arn (Amazon MSK) or bootstrap_servers (other brokers), and not both."
  }

  validation {
    condition     = var.kafka_trigger == null ? true : var.kafka_trigger.cluster_arn == null ? true : can(regex("^arn:[a-z-]+:kafka:[^:]+:[0-9]+:cluster/", var.kafka_trigger.cluster_arn))
    error_message = "kafka_trigger.cluster_arn must be the ARN of an Amazon MSK cluster."
  }

  validation {
    condition     = var.kafka_trigger == null ? true : var.kafka_trigger.provisioned_pollers != null || !var.kafka_trigger.partial_failures
    error_message = "kafka_trigger.partial_failures needs provisioned_pollers: without them Lambda ignores the report."
  }

  validation {
    condition     = var.kafka_trigger == null ? true : contains(["TRIM_HORIZON", "LATEST"], var.kafka_trigger.starting_position)
    error_message = "kafka_trigger.starting_position must be TRIM_HORIZON (the oldest record) or LATEST."
  }

  validation {
    condition     = var.kafka_trigger == null ? true : var.kafka_trigger.batch_size >= 1 && var.kafka_trigger.batch_size <= 10000 && var.kafka_trigger.batching_window_seconds >= 0 && var.kafka_trigger.batching_window_seconds <= 300
    error_message = "kafka_trigger.batch_size must be from 1 to 10000, and batching_window_seconds from 0 to 300."
  }

  validation {
    condition     = var.kafka_trigger == null ? true : alltrue([for pattern in var.kafka_trigger.filter_patterns : can(keys(jsondecode(pattern)))])
    error_message = "Each of kafka_trigger.filter_patterns must be a JSON object."
  }

  validation {
    condition     = var.kafka_trigger == null ? true : !var.is_edge_function
    error_message = "Edge functions are invoked by CloudFront only; kafka_trigger must be null."
  }
}

variable "schedule_expression" {
  description = "When the function is invoked: `rate(5 minutes)`, `cron(0 3 * * ? *)` or `at(2030-01-31T12:00:00)`. Null for no schedule."
  type        = string
  default     = null

  validation {
    condition     = var.schedule_expression == null ? true : can(regex("^(rate|cron|at)\\(.+\\)$", var.schedule_expression))
    error_message = "schedule_expression must be rate(...), cron(...) or at(...)."
  }

  validation {
    condition     = var.schedule_expression == null ? true : !var.is_edge_function
    error_message = "Edge functions are invoked by CloudFront only; schedule_expression must be null."
  }
}

variable "schedule_timezone" {
  description = "Time zone of the schedule, such as Europe/Berlin."
  type        = string
  default     = "UTC"
  nullable    = false
}

variable "eventbridge_rule_arns" {
  description = "ARNs of the rules that may invoke the function. The rules' targets are created with the rules."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for arn in var.eventbridge_rule_arns : can(regex("^arn:[a-z-]+:events:[^:]+:[0-9]+:rule/", arn))])
    error_message = "Each of eventbridge_rule_arns must be the ARN of a rule (arn:aws:events:...:rule/...)."
  }

  validation {
    condition     = length(var.eventbridge_rule_arns) == 0 || !var.is_edge_function
    error_message = "Edge functions are invoked by CloudFront only; eventbridge_rule_arns must be empty."
  }
}

variable "maximum_retry_attempts" {
  description = "Further attempts at an asynchronous invocation that failed, 0 to 2."
  type        = number
  default     = 2
  nullable    = false

  validation {
    condition     = contains([0, 1, 2], var.maximum_retry_attempts)
    error_message = "maximum_retry_attempts is ${var.maximum_retry_attempts}; it must be 0, 1 or 2."
  }
}

variable "maximum_event_age_seconds" {
  description = "Seconds after which an asynchronous invocation is given up, 60 to 21600."
  type        = number
  default     = 21600
  nullable    = false

  validation {
    condition     = var.maximum_event_age_seconds >= 60 && var.maximum_event_age_seconds <= 21600
    error_message = "maximum_event_age_seconds is ${var.maximum_event_age_seconds}; it must be from 60 to 21600."
  }
}

variable "on_success_destination_arn" {
  description = "ARN of the queue, topic, event bus or function that receives the results of asynchronous invocations. Null for none."
  type        = string
  default     = null

  validation {
    condition     = var.on_success_destination_arn == null ? true : can(regex("^arn:[a-z-]+:(sqs|sns|events|lambda):", var.on_success_destination_arn))
    error_message = "on_success_destination_arn must be the ARN of a queue, a topic, an event bus or a function."
  }

  validation {
    condition     = var.on_success_destination_arn == null ? true : !var.is_edge_function
    error_message = "Edge functions have no destinations; on_success_destination_arn must be null."
  }
}

variable "on_failure_destination_arn" {
  description = "ARN of the queue, topic, event bus or function that receives asynchronous invocations whose last attempt failed, with the error. Null for none."
  type        = string
  default     = null

  validation {
    condition     = var.on_failure_destination_arn == null ? true : can(regex("^arn:[a-z-]+:(sqs|sns|events|lambda):", var.on_failure_destination_arn))
    error_message = "on_failure_destination_arn must be the ARN of a queue, a topic, an event bus or a function."
  }

  validation {
    condition     = var.on_failure_destination_arn == null ? true : !var.is_edge_function
    error_message = "Edge functions have no destinations; on_failure_destination_arn must be null."
  }
}

variable "dead_letter_target_arn" {
  description = "ARN of the queue or topic that receives asynchronous invocations whose last attempt failed. Set it if events, topics, buckets or schedules invoke the function."
  type        = string
  default     = null

  validation {
    condition     = var.dead_letter_target_arn == null ? true : can(regex("^arn:[a-z-]+:(sqs|sns):", var.dead_letter_target_arn))
    error_message = "dead_letter_target_arn must be the ARN of a queue or a topic."
  }

  validation {
    condition     = var.dead_letter_target_arn == null ? true : !var.is_edge_function
    error_message = "Edge functions are not invoked asynchronously; dead_letter_target_arn must be null."
  }
}

variable "is_edge_function" {
  description = "Make a Lambda@Edge function: x86_64, with a published version, without environment, layers, tracing and triggers, in us-east-1."
  type        = bool
  default     = false
  nullable    = false

  validation {
    condition     = !var.is_edge_function || var.package_type == "Zip"
    error_message = "is_edge_function needs package_type = \"Zip\": CloudFront takes no images."
  }
}

variable "publish" {
  description = "Publish a version with each change, so that qualified_arn names it. Always so for edge functions."
  type        = bool
  default     = false
  nullable    = false
}

variable "package_type" {
  description = "Zip (from source_dir) or Image (from image_uri)."
  type        = string
  default     = "Zip"
  nullable    = false

  validation {
    condition     = contains(["Zip", "Image"], var.package_type)
    error_message = "package_type is \"${var.package_type}\"; it must be Zip or Image."
  }
}

variable "image_uri" {
  description = "URI of the container image, with its digest or tag, when package_type is Image."
  type        = string
  default     = null

  validation {
    condition     = var.image_uri == null ? var.package_type == "Zip" : var.package_type == "Image"
    error_message = "image_uri and package_type = \"Image\" go together: give both or neither."
  }
}

variable "image_command" {
  description = "Command that replaces the image's own, for instance the handler's name. Empty for the image's own."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "package_bucket" {
  description = "Name of a bucket through which the package is uploaded; needed above 50 MB. Null uploads it with the request. The bucket must be in region, and keeps each package under its hash."
  type        = string
  default     = null

  validation {
    condition     = var.package_bucket == null ? true : can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.package_bucket))
    error_message = "package_bucket must be the name of a bucket."
  }

  validation {
    condition     = var.package_bucket == null || var.package_type == "Zip"
    error_message = "Images cannot have a package_bucket."
  }
}

variable "source_excludes" {
  description = "Files of source_dir that stay out of the package, as patterns (`**/*.map`)."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "reserved_concurrent_executions" {
  description = "Invocations at once that are kept for this function and are its limit; 0 stops it, -1 sets no limit."
  type        = number
  default     = -1
  nullable    = false

  validation {
    condition     = var.reserved_concurrent_executions >= -1
    error_message = "reserved_concurrent_executions is ${var.reserved_concurrent_executions}; it must be -1 or more."
  }
}

variable "xray_tracing_enabled" {
  description = "Trace invocations with X-Ray, and let the role send the traces. Never for edge functions."
  type        = bool
  default     = true
  nullable    = false
}

variable "log_retention_days" {
  description = "Days for which logs are kept. Null for 365 in prod and 30 elsewhere."
  type        = number
  default     = null

  validation {
    condition     = var.log_retention_days == null ? true : contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_days)
    error_message = "log_retention_days must be one of CloudWatch's periods: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 or 3653. Logs for ever are not offered."
  }
}

variable "log_level" {
  description = "Lowest level of the application's log lines that reach the log group: TRACE, DEBUG, INFO, WARN, ERROR or FATAL."
  type        = string
  default     = "DEBUG"
  nullable    = false

  validation {
    condition     = contains(["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"], var.log_level)
    error_message = "log_level is \"${var.log_level}\"; it must be TRACE, DEBUG, INFO, WARN, ERROR or FATAL."
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

variable "vpc_config" {
  description = "Subnets and security groups, for a function inside a VPC. Null for outside, which is simpler, starts faster and is enough for the database of the database/distsql module."
  type = object({
    subnet_ids         = list(string)
    security_group_ids = list(string)
  })
  default = null

  validation {
    condition     = var.vpc_config == null ? true : length(var.vpc_config.subnet_ids) > 0 && length(var.vpc_config.security_group_ids) > 0
    error_message = "vpc_config must have at least one subnet and one security group."
  }
}
