locals {
  has_domain        = var.domain_name != null
  makes_certificate = local.has_domain && var.certificate_arn == null
  makes_records     = local.has_domain && var.hosted_zone_id != null
}

resource "aws_acm_certificate" "this" {
  count = local.makes_certificate ? 1 : 0

  domain_name       = var.domain_name
  validation_method = "DNS"
  tags              = var.tags

  # A new certificate must be in use before the old one can go.
  lifecycle {
    create_before_destroy = true
  }
}

# One domain has one record, whose name is known only after the certificate is made.
resource "aws_route53_record" "proof" {
  count = local.makes_certificate ? 1 : 0

  zone_id         = var.hosted_zone_id
  name            = tolist(aws_acm_certificate.this[0].domain_validation_options)[0].resource_record_name
  type            = tolist(aws_acm_certificate.this[0].domain_validation_options)[0].resource_record_type
  records         = [tolist(aws_acm_certificate.this[0].domain_validation_options)[0].resource_record_value]
  ttl             = 300
  allow_overwrite = true
}

resource "aws_acm_certificate_validation" "this" {
  count = local.makes_certificate ? 1 : 0

  certificate_arn         = aws_acm_certificate.this[0].arn
  validation_record_fqdns = [aws_route53_record.proof[0].fqdn]
}

resource "aws_apigatewayv2_domain_name" "this" {
  count = local.has_domain ? 1 : 0

  domain_name = var.domain_name
  tags        = var.tags

  domain_name_configuration {
    certificate_arn = local.makes_certificate ? aws_acm_certificate_validation.this[0].certificate_arn : var.certificate_arn
    endpoint_type   = "REGIONAL"
    security_policy = "TLS_1_2"
  }
}

resource "aws_apigatewayv2_api_mapping" "this" {
  count = local.has_domain ? 1 : 0

  api_id      = aws_apigatewayv2_api.this.id
  stage       = aws_apigatewayv2_stage.this.id
  domain_name = aws_apigatewayv2_domain_name.this[0].id
}

resource "aws_route53_record" "this" {
  for_each = toset(local.makes_records ? ["A", "AAAA"] : [])

  zone_id = var.hosted_zone_id
  name    = var.domain_name
  type    = each.key

  alias {
    name                   = aws_apigatewayv2_domain_name.this[0].domain_name_configuration[0].target_domain_name
    zone_id                = aws_apigatewayv2_domain_name.this[0].domain_name_configuration[0].hosted_zone_id
    evaluate_target_health = false
  }
}
