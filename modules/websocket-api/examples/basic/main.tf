provider "aws" {
  region = "eu-central-1"
}

module "chat" {
  source = "../../"

  name_prefix = "notes-dev"
  tags        = { Project = "notes" }

  routes = {
    "$default" = {
      function_name = "notes-dev-chat"
      invoke_arn    = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:notes-dev-chat/invocations"
    }
  }
}

output "invoke_url" {
  description = "URL that clients connect to."
  value       = module.chat.invoke_url
}
