variable "environment" {
  description = "Stage of deployment: dev, staging or prod."
  type        = string
  default     = "dev"
}

variable "region" {
  description = "Region to deploy to; one that offers Aurora DSQL."
  type        = string
  default     = "eu-central-1"
}

variable "alarm_email_endpoints" {
  description = "Addresses that alarms are sent to."
  type        = list(string)
  default     = []
}

variable "web_origin" {
  description = "Origin of the web application that calls the API."
  type        = string
  default     = "https://notes.example.com"
}
