provider "aws" {
  region = "eu-central-1"
}

module "api" {
  source = "../../"

  name_prefix = "notes-dev"
  tags        = { Project = "notes" }

  jwt = { issuer = "https://login.example.com/", audience = ["notes"] }

  routes = {
    "GET /notes" = {
      invoke_arn    = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:notes-dev-ListNotes/invocations"
      authorization = "JWT"
    }
  }
}

output "base_url" {
  description = "URL of the API."
  value       = module.api.base_url
}
