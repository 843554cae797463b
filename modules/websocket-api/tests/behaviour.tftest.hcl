# What is made, what it is called, and what the policies allow.

mock_provider "aws" {
  # Values that the rest of the module hands on, where a made-up word would not do.

  mock_resource "aws_cloudwatch_log_group" {
    defaults = {
      arn = "arn:aws:logs:eu-central-1:123456789012:log-group:mocked"
    }
  }

  mock_resource "aws_apigatewayv2_api" {
    defaults = {
      execution_arn = "arn:aws:execute-api:eu-central-1:123456789012:mocked"
      api_endpoint  = "wss://mocked.execute-api.eu-central-1.amazonaws.com"
      id            = "mocked"
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
  name_prefix = "notes-dev"
  tags        = { Project = "notes" }
}

run "defaults" {
  assert {
    condition     = aws_apigatewayv2_api.this.name == "notes-dev-websocket" && aws_apigatewayv2_api.this.protocol_type == "WEBSOCKET" && aws_apigatewayv2_api.this.route_selection_expression == "$request.body.action"
    error_message = "The API must be a WebSocket API called by the prefix."
  }

  assert {
    condition     = alltrue([for tags in [aws_apigatewayv2_api.this.tags, aws_apigatewayv2_stage.this.tags, aws_cloudwatch_log_group.access.tags] : tags == tomap({ Project = "notes" })])
    error_message = "Everything must carry the tags."
  }

  assert {
    condition     = one(aws_apigatewayv2_stage.this.default_route_settings).throttling_burst_limit == 100 && one(aws_apigatewayv2_stage.this.default_route_settings).throttling_rate_limit == 50 && !one(aws_apigatewayv2_stage.this.default_route_settings).data_trace_enabled
    error_message = "The stage must be throttled, and whole messages never logged."
  }

  assert {
    condition     = one(aws_apigatewayv2_stage.this.access_log_settings).destination_arn == "arn:aws:logs:eu-central-1:123456789012:log-group:/aws/apigateway/notes-dev-websocket/live/access" && jsondecode(one(aws_apigatewayv2_stage.this.access_log_settings).format).connectionId == "$context.connectionId" && aws_cloudwatch_log_group.access.retention_in_days == 90
    error_message = "The access log must be JSON, in its own group, for 90 days."
  }

  assert {
    condition     = output.stage_name == "live" && output.invoke_url == "wss://mocked.execute-api.eu-central-1.amazonaws.com/live" && output.management_endpoint == "https://mocked.execute-api.eu-central-1.amazonaws.com/live"
    error_message = "The URLs must end in the stage."
  }

  assert {
    condition     = length(aws_apigatewayv2_route.this) == 0 && length(aws_apigatewayv2_authorizer.this) == 0
    error_message = "There must be no route by default."
  }

  assert {
    condition     = jsondecode(output.manage_connections_policy_json).Statement == [{ Sid = "ManageConnections", Effect = "Allow", Action = "execute-api:ManageConnections", Resource = "arn:aws:execute-api:eu-central-1:123456789012:mocked/live/*/@connections/*" }]
    error_message = "The policy must allow sending to connections of this stage only."
  }
}

run "routes" {
  variables {
    routes = {
      "$connect" = { function_name = "connect", invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:f/invocations" }
      "$default" = { function_name = "chat", invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:f/invocations" }
      "send"     = { function_name = "chat", invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:f/invocations", two_way = true }
    }

    authorizer = { function_name = "authorizer", invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:f/invocations" }
  }

  assert {
    condition     = { for key, route in aws_apigatewayv2_route.this : key => route.authorization_type } == { "$connect" = "CUSTOM", "$default" = "NONE", send = "NONE" }
    error_message = "The authorizer must be asked at $connect, and there only."
  }

  assert {
    condition     = { for key, permission in aws_lambda_permission.route : permission.statement_id => permission.source_arn } == { for name, key in { Connect = "$connect", Default = "$default", Send = "send" } : "AllowWebSocket${name}" => "arn:aws:execute-api:eu-central-1:123456789012:mocked/live/${key}" }
    error_message = "Each route may invoke its function, and no other way leads there."
  }

  assert {
    condition     = keys(aws_apigatewayv2_route_response.this) == ["send"] && aws_apigatewayv2_route.this["send"].route_response_selection_expression == "$default"
    error_message = "Only two-way routes must answer."
  }

  assert {
    condition     = endswith(aws_lambda_permission.authorizer[0].source_arn, "/authorizers/${aws_apigatewayv2_authorizer.this[0].id}")
    error_message = "Only this authorizer may invoke its function."
  }
}

run "switches" {
  command = plan

  variables {
    stage_name               = "v2"
    throttling_burst_limit   = 7
    throttling_rate_limit    = 3
    detailed_metrics_enabled = true
    log_retention_days       = 7
  }

  assert {
    condition     = aws_apigatewayv2_stage.this.name == "v2" && one(aws_apigatewayv2_stage.this.default_route_settings).throttling_burst_limit == 7 && one(aws_apigatewayv2_stage.this.default_route_settings).throttling_rate_limit == 3 && one(aws_apigatewayv2_stage.this.default_route_settings).detailed_metrics_enabled && aws_cloudwatch_log_group.access.retention_in_days == 7
    error_message = "The settings must reach stage and log."
  }
}
