# What the dashboard shows. Widgets without x and y are laid out by CloudWatch in
# this order, two in a row.
locals {
  function_panels = [
    { title = "Function latency (p95, ms)", metric = "Duration", stat = "p95" },
    { title = "Function latency (p50, ms)", metric = "Duration", stat = "p50" },
    { title = "Function errors", metric = "Errors", stat = "Sum" },
    { title = "Function throttles", metric = "Throttles", stat = "Sum" },
    { title = "Function concurrency", metric = "ConcurrentExecutions", stat = "Maximum" },
    { title = "Function invocations", metric = "Invocations", stat = "Sum" },
  ]

  function_widgets = [for panel in local.function_panels : {
    title   = panel.title
    stat    = panel.stat
    metrics = [for name in var.lambda_function_names : ["AWS/Lambda", panel.metric, "FunctionName", name]]
  } if length(var.lambda_function_names) > 0]

  api_panels = [
    { title = "API requests", stat = "Sum", metrics = ["Count"] },
    { title = "API errors", stat = "Sum", metrics = ["4XXError", "5XXError"] },
    { title = "API latency (p95, ms)", stat = "p95", metrics = ["Latency", "IntegrationLatency"] },
  ]

  api_widgets = [for panel in local.api_panels : {
    title   = panel.title
    stat    = panel.stat
    metrics = [for metric in panel.metrics : ["AWS/ApiGateway", metric, "ApiName", var.api_gateway_name]]
  } if local.has_api]

  database_panels = [
    { title = "Database conflicts and transactions", stat = "Sum", metrics = ["OccConflicts", "TotalTransactions"] },
    { title = "Database commit latency (ms)", stat = "Average", metrics = ["CommitLatency"] },
    { title = "Database query timeouts", stat = "Sum", metrics = ["QueryTimeouts"] },
  ]

  database_widgets = [for panel in local.database_panels : {
    title   = panel.title
    stat    = panel.stat
    metrics = [for metric in panel.metrics : ["AWS/AuroraDSQL", metric, "ClusterId", var.distsql_cluster_identifier]]
  } if local.has_database]

  # The application's own count, over all its queries.
  retry_widgets = [for enabled in [local.has_database] : {
    title = "Query retries"
    stat  = "Sum"
    metrics = [[{
      expression = "SEARCH('Namespace=\"${var.metrics_namespace}\" MetricName=\"${var.retry_metric_name}\"', 'Sum', 300)"
      id         = "retries"
    }]]
  } if enabled]

  queue_widgets = [for enabled in [length(var.sqs_dlq_names) > 0] : {
    title   = "Messages in dead-letter queues"
    stat    = "Maximum"
    metrics = [for name in var.sqs_dlq_names : ["AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName", name]]
  } if enabled]

  rule_widgets = [for enabled in [length(var.eventbridge_rule_names) > 0] : {
    title   = "Failed invocations of rules"
    stat    = "Sum"
    metrics = [for name in var.eventbridge_rule_names : concat(["AWS/Events", "FailedInvocations"], flatten([for key, value in local.rule_dimensions[name] : [key, value]]))]
  } if enabled]

  widgets = [
    for widget in concat(
      local.function_widgets,
      local.api_widgets,
      local.database_widgets,
      local.retry_widgets,
      local.queue_widgets,
      local.rule_widgets,
      ) : {
      type   = "metric"
      width  = 12
      height = 6
      properties = {
        title   = widget.title
        region  = local.region
        view    = "timeSeries"
        stacked = false
        period  = 300
        stat    = widget.stat
        metrics = widget.metrics
        yAxis   = { left = { min = 0 } }
      }
    }
  ]
}
