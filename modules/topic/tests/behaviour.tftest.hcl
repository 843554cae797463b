# What is made, what it is called, and what the policies allow.

mock_provider "aws" {
  # Values that the rest of the module hands on, where a made-up word would not do.

  mock_resource "aws_sns_topic" {
    defaults = {
      arn = "arn:aws:sns:eu-central-1:123456789012:mocked"
    }
  }

  mock_resource "aws_sns_platform_application" {
    defaults = {
      arn = "arn:aws:sns:eu-central-1:123456789012:app/GCM/mocked"
    }
  }

  mock_resource "aws_kms_key" {
    defaults = {
      arn = "arn:aws:kms:eu-central-1:123456789012:key/11111111-2222-3333-4444-555555555555"
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
  topic_name  = "shared"
  name_prefix = "notes-dev"
  tags        = { Project = "notes" }
}

run "defaults" {
  assert {
    condition     = output.topic_name == "notes-dev-shared" && output.topic_arn == "arn:aws:sns:eu-central-1:123456789012:notes-dev-shared"
    error_message = "The topic must be called by prefix and short name."
  }

  assert {
    condition     = aws_sns_topic.this.tags == tomap({ Project = "notes" })
    error_message = "The topic must carry the tags."
  }

  assert {
    condition     = aws_sns_topic.this.kms_master_key_id == "alias/aws/sns" && aws_sns_topic.this.signature_version == 2
    error_message = "Messages must be encrypted, and signed with SHA-256."
  }

  assert {
    condition     = length(aws_kms_key.this) == 0 && length(aws_sns_platform_application.this) == 0 && length(aws_sns_topic_subscription.this) == 0 && output.platform_application_arn == "" && output.kms_key_arn == ""
    error_message = "There must be nothing but the topic by default."
  }

  assert {
    condition     = [for statement in jsondecode(aws_sns_topic_policy.this.policy).Statement : [statement.Effect, statement.Resource, statement.Condition]] == [["Deny", output.topic_arn, { Bool = { "aws:SecureTransport" = "false" } }]]
    error_message = "The policy must refuse plain HTTP and allow nothing."
  }

  assert {
    condition     = jsondecode(output.publish_policy_json).Statement == [{ Sid = "Publish", Effect = "Allow", Action = "sns:Publish", Resource = output.topic_arn }]
    error_message = "The policy must allow publishing to this topic only."
  }
}

run "platforms_have_their_aws_names" {
  variables {
    platform            = "PUSH_A_SANDBOX"
    platform_credential = "key"
    platform_principal  = "certificate"
  }

  assert {
    condition     = aws_sns_platform_application.this[0].platform == "APNS_SANDBOX" && aws_sns_platform_application.this[0].name == "notes-dev-shared"
    error_message = "PUSH_A_SANDBOX is APNS_SANDBOX."
  }

  assert {
    condition     = output.platform_application_arn != ""
    error_message = "The ARN of the application must be handed out."
  }
}

run "push_a_is_apns" {
  command = plan

  variables {
    platform            = "PUSH_A"
    platform_credential = "key"
  }

  assert {
    condition     = aws_sns_platform_application.this[0].platform == "APNS"
    error_message = "PUSH_A is APNS."
  }
}

run "push_b_is_gcm" {
  command = plan

  variables {
    platform            = "PUSH_B"
    platform_credential = "key"
  }

  assert {
    condition     = aws_sns_platform_application.this[0].platform == "GCM"
    error_message = "PUSH_B is GCM."
  }
}

run "aws_names_do_as_well" {
  command = plan

  variables {
    platform            = "GCM"
    platform_credential = "key"
  }

  assert {
    condition     = aws_sns_platform_application.this[0].platform == "GCM"
    error_message = "GCM is GCM."
  }
}

run "services_are_bound_to_their_source" {
  variables {
    create_kms_key = true
    publisher_services = [
      { service = "s3.amazonaws.com", source_arn = "arn:aws:s3:::files" },
      { service = "events.amazonaws.com", source_arn = "arn:aws:events:eu-central-1:123456789012:rule/nightly" },
    ]
  }

  assert {
    condition = jsondecode(aws_sns_topic_policy.this.policy).Statement[1].Condition == {
      ArnLike      = { "aws:SourceArn" = "arn:aws:s3:::files" }
      StringEquals = { "aws:SourceAccount" = "123456789012" }
    }
    error_message = "A bucket may publish, for itself and of this account only."
  }

  assert {
    condition     = jsondecode(aws_sns_topic_policy.this.policy).Statement[2].Condition == { ArnLike = { "aws:SourceArn" = "arn:aws:events:eu-central-1:123456789012:rule/nightly" } }
    error_message = "A rule may publish, for itself only."
  }

  assert {
    condition     = [for statement in jsondecode(aws_kms_key.this[0].policy).Statement : statement.Principal] == [{ AWS = "arn:aws:iam::123456789012:root" }, { Service = "s3.amazonaws.com" }, { Service = "events.amazonaws.com" }]
    error_message = "The key must admit the account and the two services."
  }

  assert {
    condition     = aws_kms_key.this[0].enable_key_rotation && aws_sns_topic.this.kms_master_key_id == aws_kms_key.this[0].arn && aws_kms_alias.this[0].name == "alias/notes-dev-shared"
    error_message = "The topic must use the key, and the key must rotate."
  }

  assert {
    condition     = jsondecode(output.publish_policy_json).Statement[1].Resource == aws_kms_key.this[0].arn
    error_message = "Who publishes must be able to use the key."
  }
}

run "subscriptions" {
  variables {
    subscriptions = {
      worker = {
        protocol              = "sqs"
        endpoint              = "arn:aws:sqs:eu-central-1:123456789012:work"
        raw_message_delivery  = true
        dead_letter_queue_arn = "arn:aws:sqs:eu-central-1:123456789012:dead"
      }
    }
  }

  assert {
    condition     = aws_sns_topic_subscription.this["worker"].raw_message_delivery && jsondecode(aws_sns_topic_subscription.this["worker"].redrive_policy).deadLetterTargetArn == "arn:aws:sqs:eu-central-1:123456789012:dead"
    error_message = "The settings must reach the subscription."
  }
}

run "first_in_first_out" {
  command = plan

  variables {
    fifo_topic = true
  }

  assert {
    condition     = aws_sns_topic.this.name == "notes-dev-shared.fifo" && aws_sns_topic.this.fifo_topic
    error_message = "The topic must be first-in-first-out, by name and by kind."
  }
}
