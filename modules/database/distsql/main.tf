data "aws_region" "current" {}

locals {
  # The provider has no attribute for the endpoint; its form is documented.
  endpoint = "${aws_dsql_cluster.this.identifier}.dsql.${data.aws_region.current.region}.on.aws"

  connect_policies = {
    connect       = "dsql:DbConnect"
    admin-connect = "dsql:DbConnectAdmin"
  }

  descriptions = {
    connect       = "Connect to the ${var.name_prefix} database as a role of its own, for functions."
    admin-connect = "Connect to the ${var.name_prefix} database as admin, for migrations only."
  }
}

resource "aws_dsql_cluster" "this" {
  deletion_protection_enabled = var.deletion_protection
  kms_encryption_key          = var.kms_key_arn

  # The service makes up the identifier; the tag is the name that people see.
  tags = merge(var.tags, { Name = "${var.name_prefix}-distsql" })
}

resource "aws_iam_policy" "connect" {
  for_each = local.connect_policies

  name        = "${var.name_prefix}-distsql-${each.key}"
  description = local.descriptions[each.key]
  tags        = var.tags

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid      = "Connect"
      Effect   = "Allow"
      Action   = each.value
      Resource = aws_dsql_cluster.this.arn
    }]
  })
}
