# A notes application: an API function that stores notes in the database and files
# in the bucket, and hands mail to a worker through a queue.

locals {
  production = var.environment == "prod"

  # What every function needs.
  function = {
    name_prefix        = module.core.name_prefix
    tags               = module.core.common_tags
    region             = module.core.region
    account_id         = module.core.account_id
    assume_role_policy = module.core.function_assume_role_policy
  }
}

module "core" {
  source = "../../modules/core"

  project_name = "notes"
  environment  = var.environment

  # Once for each account and region; see the guide.
  manage_api_gateway_account = true
}

module "database" {
  source = "../../modules/database/distsql"

  name_prefix         = module.core.name_prefix
  tags                = module.core.common_tags
  deletion_protection = local.production
}

module "mail" {
  source = "../../modules/queue"

  queue_name                 = "mail"
  name_prefix                = module.core.name_prefix
  tags                       = module.core.common_tags
  visibility_timeout_seconds = 180
  alarm_sns_topic_arns       = [module.observability.sns_topic_arn]
}

module "files" {
  source = "../../modules/storage"

  bucket_name          = "files"
  name_prefix          = module.core.name_prefix
  tags                 = module.core.common_tags
  project_name         = "example" # Put a word of your own here: names of buckets are shared by the whole world.
  force_destroy        = !local.production
  cors_allowed_origins = [var.web_origin]
}

module "api_function" {
  source = "../../modules/function"

  function_name      = "api"
  source_dir         = "${path.module}/src/api"
  environment        = var.environment
  name_prefix        = local.function.name_prefix
  tags               = local.function.tags
  region             = local.function.region
  account_id         = local.function.account_id
  assume_role_policy = local.function.assume_role_policy
  timeout            = 25

  api_gateway_enabled       = true
  api_gateway_execution_arn = module.api.rest_api_execution_arn

  additional_policy_arns = [module.database.connect_policy_arn]

  inline_policies = {
    files = module.files.read_write_policy_json
    mail  = module.mail.send_policy_json
  }

  environment_variables = {
    CORS_ALLOW_ORIGIN = var.web_origin
    DATABASE_ENDPOINT = module.database.cluster_endpoint
    FILES_BUCKET      = module.files.bucket_id
    MAIL_QUEUE_URL    = module.mail.queue_url
  }
}

module "worker_function" {
  source = "../../modules/function"

  function_name      = "mail-worker"
  source_dir         = "${path.module}/src/worker"
  environment        = var.environment
  name_prefix        = local.function.name_prefix
  tags               = local.function.tags
  region             = local.function.region
  account_id         = local.function.account_id
  assume_role_policy = local.function.assume_role_policy
  timeout            = 30

  sqs_trigger_arn         = module.mail.queue_arn
  sqs_maximum_concurrency = 5
}

module "api" {
  source = "../../modules/rest-api"

  name_prefix       = module.core.name_prefix
  tags              = module.core.common_tags
  description       = "Notes."
  cors_allow_origin = var.web_origin
  create_usage_plan = false

  # Refers to the methods and integrations, so the deployment waits for them and
  # is made anew when they change.
  redeployment_trigger = sha1(jsonencode([
    aws_api_gateway_resource.notes,
    aws_api_gateway_method.notes,
    aws_api_gateway_integration.notes,
  ]))
}

resource "aws_api_gateway_resource" "notes" {
  rest_api_id = module.api.rest_api_id
  parent_id   = module.api.rest_api_root_resource_id
  path_part   = "notes"
}

resource "aws_api_gateway_method" "notes" {
  for_each = toset(["GET", "POST"])

  rest_api_id   = module.api.rest_api_id
  resource_id   = aws_api_gateway_resource.notes.id
  http_method   = each.key
  authorization = "NONE" # The handlers check the session themselves.
}

resource "aws_api_gateway_integration" "notes" {
  for_each = aws_api_gateway_method.notes

  rest_api_id             = each.value.rest_api_id
  resource_id             = each.value.resource_id
  http_method             = each.value.http_method
  type                    = "AWS_PROXY"
  integration_http_method = "POST"
  uri                     = module.api_function.invoke_arn
}

module "observability" {
  source = "../../modules/observability"

  name_prefix                = module.core.name_prefix
  tags                       = module.core.common_tags
  enable_dashboard           = local.production
  alarm_email_endpoints      = var.alarm_email_endpoints
  lambda_function_names      = [module.api_function.function_name, module.worker_function.function_name]
  api_gateway_name           = module.api.api_name
  distsql_cluster_identifier = module.database.cluster_identifier
}
