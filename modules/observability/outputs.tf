output "sns_topic_arn" {
  description = "ARN of the topic that alarms report to, for the alarm_sns_topic_arns of other modules; empty when alarms are disabled."
  value       = local.topic_arn
}

output "dashboard_url" {
  description = "Address of the dashboard; empty when it is disabled."
  value       = join("", [for dashboard in aws_cloudwatch_dashboard.this : "https://${local.region}.console.aws.amazon.com/cloudwatch/home?region=${local.region}#dashboards:name=${dashboard.dashboard_name}"])
}

output "alarm_names" {
  description = "Names of all alarms, in order."
  value       = sort([for alarm in aws_cloudwatch_metric_alarm.this : alarm.alarm_name])
}
