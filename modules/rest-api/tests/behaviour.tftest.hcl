# What is made, what it is called, and what the policies allow.

mock_provider "aws" {
  # Values that the rest of the module hands on, where a made-up word would not do.

  mock_resource "aws_cloudwatch_log_group" {
    defaults = {
      arn = "arn:aws:logs:eu-central-1:123456789012:log-group:mocked"
    }
  }

  mock_resource "aws_api_gateway_rest_api" {
    defaults = {
      execution_arn = "arn:aws:execute-api:eu-central-1:123456789012:mocked"
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
    condition     = output.api_name == "notes-dev-api" && output.stage_name == "live" && output.access_log_group_name == "/aws/apigateway/notes-dev-api/live/access"
    error_message = "API, stage and log group must be called by the prefix."
  }

  assert {
    condition     = alltrue([for tags in [aws_api_gateway_rest_api.this.tags, aws_api_gateway_stage.this.tags, aws_cloudwatch_log_group.access.tags, aws_api_gateway_usage_plan.this[0].tags, aws_api_gateway_api_key.this[0].tags] : tags == tomap({ Project = "notes" })])
    error_message = "Everything must carry the tags."
  }

  assert {
    condition     = one(aws_api_gateway_rest_api.this.endpoint_configuration).types == tolist(["REGIONAL"]) && length(aws_api_gateway_rest_api_policy.private) == 0
    error_message = "The API must be regional by default."
  }

  assert {
    condition     = aws_api_gateway_stage.this.xray_tracing_enabled && aws_cloudwatch_log_group.access.retention_in_days == 90
    error_message = "The stage must be traced, and its log kept for 90 days."
  }

  assert {
    condition     = one(aws_api_gateway_stage.this.access_log_settings).destination_arn == "arn:aws:logs:eu-central-1:123456789012:log-group:/aws/apigateway/notes-dev-api/live/access" && jsondecode(one(aws_api_gateway_stage.this.access_log_settings).format).requestId == "$context.requestId"
    error_message = "The access log must be JSON, in its own group."
  }

  assert {
    condition     = jsondecode(one(aws_api_gateway_stage.this.access_log_settings).format).resourcePath == "$context.resourcePath" && !strcontains(one(aws_api_gateway_stage.this.access_log_settings).format, "$context.path")
    error_message = "The access log must have the route and no path, which may hold a secret."
  }

  assert {
    condition     = one(aws_api_gateway_method_settings.all.settings).throttling_burst_limit == 50 && one(aws_api_gateway_method_settings.all.settings).throttling_rate_limit == 100 && !one(aws_api_gateway_method_settings.all.settings).data_trace_enabled && one(aws_api_gateway_method_settings.all.settings).logging_level == "ERROR" && aws_api_gateway_method_settings.all.method_path == "*/*"
    error_message = "All methods must be throttled, and whole requests never logged."
  }

  assert {
    condition     = one(aws_api_gateway_usage_plan.this[0].quota_settings).limit == 10000 && one(aws_api_gateway_usage_plan.this[0].quota_settings).period == "DAY"
    error_message = "The usage plan must have a daily quota."
  }

  assert {
    condition     = length(aws_api_gateway_authorizer.this) == 0 && output.authorizer_id == ""
    error_message = "There must be no authorizer by default."
  }
}

run "first_deployment" {
  module {
    source = "../function/tests/two_runs"
  }

  variables {
    first = run.defaults.redeployment
  }
}

run "errors_are_json_with_cors_headers" {
  variables {
    cors_allow_origin = "https://app.example.com"
  }

  assert {
    condition     = keys(aws_api_gateway_gateway_response.this) == ["DEFAULT_4XX", "DEFAULT_5XX"] && alltrue([for response in aws_api_gateway_gateway_response.this : response.response_parameters["gatewayresponse.header.Access-Control-Allow-Origin"] == "'https://app.example.com'" && response.response_parameters["gatewayresponse.header.Vary"] == "'Origin'"])
    error_message = "Errors of both kinds must carry the origin."
  }

  assert {
    condition     = keys(jsondecode(replace(aws_api_gateway_gateway_response.this["DEFAULT_4XX"].response_templates["application/json"], "$context.error.messageString", "\"Forbidden\""))) == ["code", "correlationId", "message", "requestId"]
    error_message = "The body must be JSON with the fields of the functions' errors, once the quoted message is filled in."
  }
}

run "errors_allow_further_headers" {
  command = plan

  variables {
    cors_allow_headers = ["x-client-key"]
  }

  assert {
    condition     = aws_api_gateway_gateway_response.this["DEFAULT_4XX"].response_parameters["gatewayresponse.header.Access-Control-Allow-Headers"] == "'Authorization,Content-Type,X-Api-Key,X-Correlation-Id,x-client-key'"
    error_message = "The given headers must be allowed besides the fixed ones."
  }
}

run "without_cors_headers" {
  command = plan

  variables {
    cors_allow_origin = null
  }

  assert {
    condition     = alltrue([for response in aws_api_gateway_gateway_response.this : length(response.response_parameters) == 0])
    error_message = "Null must send no CORS headers."
  }
}

run "every_origin_needs_no_vary" {
  command = plan

  assert {
    condition     = aws_api_gateway_gateway_response.this["DEFAULT_5XX"].response_parameters["gatewayresponse.header.Access-Control-Allow-Origin"] == "'*'" && !contains(keys(aws_api_gateway_gateway_response.this["DEFAULT_5XX"].response_parameters), "gatewayresponse.header.Vary")
    error_message = "* is the same for every origin."
  }
}

run "authorizer" {
  variables {
    authorizer_function_invoke_arn = "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-central-1:123456789012:function:f/invocations"
    authorizer_ttl_seconds         = 60
  }

  assert {
    condition     = aws_api_gateway_authorizer.this[0].type == "REQUEST" && aws_api_gateway_authorizer.this[0].authorizer_result_ttl_in_seconds == 60 && aws_api_gateway_authorizer.this[0].identity_source == "method.request.header.Authorization" && output.authorizer_id != ""
    error_message = "The authorizer must be asked for each request that has an Authorization header."
  }
}

run "an_authorizer_redeploys" {
  module {
    source = "../function/tests/two_runs"
  }

  variables {
    first  = run.first_deployment.first
    second = run.authorizer.redeployment
  }

  assert {
    condition     = var.first != var.second
    error_message = "An authorizer must be deployed."
  }
}

run "no_usage_plan" {
  variables {
    create_usage_plan = false
  }

  assert {
    condition     = length(aws_api_gateway_usage_plan.this) == 0 && length(aws_api_gateway_api_key.this) == 0 && length(aws_api_gateway_usage_plan_key.this) == 0 && nonsensitive(output.api_key_value) == ""
    error_message = "The switch must take plan and key away."
  }
}

run "new_trigger" {
  variables {
    redeployment_trigger = "changed"
  }
}

run "a_new_trigger_redeploys" {
  module {
    source = "../function/tests/two_runs"
  }

  variables {
    first  = run.an_authorizer_redeploys.first
    second = run.new_trigger.redeployment
  }

  assert {
    condition     = var.first != var.second
    error_message = "A new trigger must deploy the API anew."
  }
}

run "the_same_again" {}

run "the_same_again_does_not_redeploy" {
  module {
    source = "../function/tests/two_runs"
  }

  variables {
    first  = run.a_new_trigger_redeploys.first
    second = run.the_same_again.redeployment
  }

  assert {
    condition     = var.first == var.second
    error_message = "The same settings must give the same deployment."
  }
}

run "private" {
  variables {
    endpoint_type    = "PRIVATE"
    vpc_endpoint_ids = ["vpce-1"]
  }

  assert {
    condition     = jsondecode(aws_api_gateway_rest_api_policy.private[0].policy).Statement[0].Condition == { StringEquals = { "aws:SourceVpce" = ["vpce-1"] } } && jsondecode(aws_api_gateway_rest_api_policy.private[0].policy).Statement[0].Resource == "${output.rest_api_execution_arn}/*"
    error_message = "Only the endpoints given may reach the API."
  }
}

run "switches" {
  command = plan

  variables {
    xray_tracing_enabled         = false
    detailed_metrics_enabled     = true
    disable_execute_api_endpoint = true
    throttle_burst_limit         = 5
    throttle_rate_limit          = 2.5
  }

  assert {
    condition     = !aws_api_gateway_stage.this.xray_tracing_enabled && one(aws_api_gateway_method_settings.all.settings).metrics_enabled && aws_api_gateway_rest_api.this.disable_execute_api_endpoint
    error_message = "The switches must reach API and stage."
  }

  assert {
    condition     = one(aws_api_gateway_usage_plan.this[0].throttle_settings).burst_limit == 5 && one(aws_api_gateway_usage_plan.this[0].throttle_settings).rate_limit == 2.5
    error_message = "The limits must reach the usage plan."
  }
}

run "without_a_domain" {
  assert {
    condition     = length(aws_api_gateway_domain_name.this) == 0 && length(aws_acm_certificate.this) == 0 && length(aws_route53_record.this) == 0 && startswith(output.base_url, "https://") && endswith(output.base_url, ".execute-api.eu-central-1.amazonaws.com/live") && output.regional_domain_name == ""
    error_message = "Without a domain there must be the gateway's own address only."
  }
}

run "a_domain_with_certificate_and_records" {
  variables {
    domain_name    = "api.example.com"
    hosted_zone_id = "Z0123456789ABC"
  }

  override_resource {
    target = aws_acm_certificate.this
    values = {
      arn = "arn:aws:acm:eu-central-1:123456789012:certificate/mocked"
      domain_validation_options = [{
        domain_name           = "api.example.com"
        resource_record_name  = "_x.api.example.com."
        resource_record_type  = "CNAME"
        resource_record_value = "_y.acm-validations.aws."
      }]
    }
  }

  assert {
    condition     = output.base_url == "https://api.example.com" && aws_acm_certificate.this[0].validation_method == "DNS" && aws_route53_record.proof[0].name == "_x.api.example.com."
    error_message = "The address must be known at plan, and the certificate proven by DNS."
  }

  assert {
    condition     = aws_api_gateway_domain_name.this[0].security_policy == "TLS_1_2" && aws_api_gateway_base_path_mapping.this[0].stage_name == "live" && keys(aws_route53_record.this) == ["A", "AAAA"]
    error_message = "The domain must take TLS 1.2 only and lead to the stage, by IPv4 and IPv6."
  }
}

run "a_domain_with_a_certificate_of_ones_own" {
  variables {
    domain_name     = "api.example.com"
    certificate_arn = "arn:aws:acm:eu-central-1:123456789012:certificate/own"
  }

  assert {
    condition     = length(aws_acm_certificate.this) == 0 && length(aws_route53_record.this) == 0 && aws_api_gateway_domain_name.this[0].regional_certificate_arn == "arn:aws:acm:eu-central-1:123456789012:certificate/own"
    error_message = "The given certificate must be used, and DNS left alone."
  }
}
