provider "aws" {
  region = "eu-central-1"
}

module "api" {
  source = "../../"

  name_prefix = "notes-dev"
  tags        = { Project = "notes" }

  cors_allow_origin    = "https://notes.example.com"
  redeployment_trigger = sha1(jsonencode([aws_api_gateway_method.health, aws_api_gateway_integration.health]))
}

# GET /health, answered by the gateway itself.
resource "aws_api_gateway_resource" "health" {
  rest_api_id = module.api.rest_api_id
  parent_id   = module.api.rest_api_root_resource_id
  path_part   = "health"
}

resource "aws_api_gateway_method" "health" {
  rest_api_id   = module.api.rest_api_id
  resource_id   = aws_api_gateway_resource.health.id
  http_method   = "GET"
  authorization = "NONE"
}

resource "aws_api_gateway_integration" "health" {
  rest_api_id       = module.api.rest_api_id
  resource_id       = aws_api_gateway_resource.health.id
  http_method       = aws_api_gateway_method.health.http_method
  type              = "MOCK"
  request_templates = { "application/json" = jsonencode({ statusCode = 200 }) }
}

output "invoke_url" {
  description = "URL of the API."
  value       = module.api.invoke_url
}
