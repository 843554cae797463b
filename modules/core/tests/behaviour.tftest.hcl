# What is made, what it is called, and what the policies allow.

mock_provider "aws" {
  # Values that the rest of the module hands on, where a made-up word would not do.

  mock_resource "aws_iam_role" {
    defaults = {
      arn = "arn:aws:iam::123456789012:role/mocked"
    }
  }

  mock_resource "aws_iam_policy" {
    defaults = {
      arn = "arn:aws:iam::123456789012:policy/mocked"
    }
  }

  mock_data "aws_caller_identity" {
    defaults = {
      account_id = "123456789012"
    }
  }

  mock_data "aws_partition" {
    defaults = {
      partition  = "aws"
      dns_suffix = "amazonaws.com"
    }
  }

  mock_data "aws_region" {
    defaults = {
      region = "eu-central-1"
    }
  }
}

variables {
  project_name = "notes"
  environment  = "staging"
  extra_tags   = { Owner = "platform" }
}

run "names_and_tags" {
  assert {
    condition     = output.name_prefix == "notes-staging"
    error_message = "The prefix must be project and stage."
  }

  assert {
    condition     = output.common_tags == { Project = "notes", Environment = "staging", ManagedBy = "terraform", Owner = "platform" }
    error_message = "The tags must hold project, stage, origin and the extra ones."
  }

  assert {
    condition     = aws_iam_policy.xray.tags == tomap(output.common_tags) && aws_iam_policy.xray.name == "notes-staging-function-xray"
    error_message = "The tracing policy must carry prefix and tags."
  }

  assert {
    condition     = output.account_id == "123456789012" && output.region == "eu-central-1"
    error_message = "Account and region must be those that are deployed to."
  }
}

run "extra_tag_wins" {
  command = plan

  variables {
    extra_tags = { ManagedBy = "nobody" }
  }

  assert {
    condition     = output.common_tags.ManagedBy == "nobody"
    error_message = "A tag that is given must win."
  }
}

run "roles_are_for_services_only" {
  assert {
    condition = [for policy in [output.function_assume_role_policy, output.function_gateway_assume_role_policy, output.edge_function_assume_role_policy] : jsondecode(policy).Statement[0].Principal.Service] == [
      ["lambda.amazonaws.com"],
      ["lambda.amazonaws.com", "apigateway.amazonaws.com"],
      ["lambda.amazonaws.com", "edgelambda.amazonaws.com"],
    ]
    error_message = "Each kind of function must be taken on by its own services."
  }

  assert {
    condition     = alltrue([for policy in [output.function_assume_role_policy, output.function_gateway_assume_role_policy, output.edge_function_assume_role_policy] : jsondecode(policy).Statement[0].Action == "sts:AssumeRole"])
    error_message = "Nothing but taking on a role may be allowed."
  }

  assert {
    condition     = alltrue([for action in jsondecode(aws_iam_policy.xray.policy).Statement[0].Action : startswith(action, "xray:") && !strcontains(action, "*")])
    error_message = "The tracing policy must name its actions."
  }
}

run "account_setting_is_off_by_default" {
  assert {
    condition     = length(aws_api_gateway_account.this) == 0 && length(aws_iam_role.api_gateway_logs) == 0 && output.api_gateway_logs_role_arn == ""
    error_message = "The account must be left alone by default."
  }
}

run "account_setting_can_be_made" {
  variables {
    manage_api_gateway_account = true
  }

  assert {
    condition     = aws_api_gateway_account.this[0].cloudwatch_role_arn == aws_iam_role.api_gateway_logs[0].arn && output.api_gateway_logs_role_arn == aws_iam_role.api_gateway_logs[0].arn
    error_message = "The role must be entered in the account."
  }

  assert {
    condition     = aws_iam_role_policy_attachment.api_gateway_logs[0].policy_arn == "arn:aws:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs"
    error_message = "The role must be able to write logs, and nothing else."
  }
}

run "roles_have_the_boundary" {
  variables {
    manage_api_gateway_account = true
    permissions_boundary_arn   = "arn:aws:iam::123456789012:policy/functions"
  }

  assert {
    condition     = aws_iam_role.api_gateway_logs[0].permissions_boundary == "arn:aws:iam::123456789012:policy/functions"
    error_message = "The role must have the boundary."
  }
}
