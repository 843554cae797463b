# What is made, and what the policies allow.

mock_provider "aws" {
  # Values that the rest of the module hands on, where a made-up word would not do.

  mock_resource "aws_iam_policy" {
    defaults = {
      arn = "arn:aws:iam::123456789012:policy/mocked"
    }
  }

  mock_resource "aws_dsql_cluster" {
    defaults = {
      arn        = "arn:aws:dsql:eu-central-1:123456789012:cluster/abcdefghijklmnopqrstuvwxyz"
      identifier = "abcdefghijklmnopqrstuvwxyz"
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

run "protected_by_default" {
  assert {
    condition     = aws_dsql_cluster.this.deletion_protection_enabled
    error_message = "The cluster must be protected."
  }

  assert {
    condition     = aws_dsql_cluster.this.tags == tomap({ Project = "notes", Name = "notes-dev-distsql" })
    error_message = "The cluster must carry tags and name."
  }

  assert {
    condition     = output.cluster_endpoint == "abcdefghijklmnopqrstuvwxyz.dsql.eu-central-1.on.aws"
    error_message = "The endpoint must be made of identifier and region."
  }
}

run "protection_can_be_taken_away" {
  command = plan

  variables {
    deletion_protection = false
  }

  assert {
    condition     = !aws_dsql_cluster.this.deletion_protection_enabled
    error_message = "The switch must reach the cluster."
  }
}

run "own_key" {
  command = plan

  variables {
    kms_key_arn = "arn:aws:kms:eu-central-1:123456789012:key/own"
  }

  assert {
    condition     = aws_dsql_cluster.this.kms_encryption_key == "arn:aws:kms:eu-central-1:123456789012:key/own"
    error_message = "The key must reach the cluster."
  }
}

run "each_policy_allows_one_action_on_this_cluster" {
  assert {
    condition     = jsondecode(aws_iam_policy.connect["connect"].policy).Statement == [{ Sid = "Connect", Effect = "Allow", Action = "dsql:DbConnect", Resource = aws_dsql_cluster.this.arn }]
    error_message = "Functions must be able to connect to this cluster, and no more."
  }

  assert {
    condition     = jsondecode(aws_iam_policy.connect["admin-connect"].policy).Statement == [{ Sid = "Connect", Effect = "Allow", Action = "dsql:DbConnectAdmin", Resource = aws_dsql_cluster.this.arn }]
    error_message = "Migrations must be able to connect to this cluster as admin, and no more."
  }

  assert {
    condition     = aws_iam_policy.connect["connect"].name == "notes-dev-distsql-connect" && aws_iam_policy.connect["admin-connect"].name == "notes-dev-distsql-admin-connect"
    error_message = "The policies must carry the prefix."
  }
}
