# Values of two runs. OpenTofu knows the last run of a module only, and its outputs in variables only, so a run of this
# module keeps the first value for later ones.

variable "first" {
  type        = string
  description = "Value of one run."
}

variable "second" {
  type        = string
  description = "Value of another run."
  default     = null
}

output "first" {
  value       = var.first
  description = "Value of one run."
}
