# Every rule of variables.tf refuses a value that breaks it.

mock_provider "aws" {}

variables {
  table_name  = "visits"
  hash_key    = "user_id"
  attributes  = [{ name = "user_id", type = "S" }]
  name_prefix = "notes-dev"
  tags        = { Project = "notes" }
}

run "accepts_the_base" {
  command = plan
}

run "table_name_slash" {
  command = plan

  variables {
    table_name = "a/b"
  }

  expect_failures = [var.table_name]
}

run "name_prefix_underscore" {
  command = plan

  variables {
    name_prefix = "notes_dev"
  }

  expect_failures = [var.name_prefix]
}

run "hash_key_empty" {
  command = plan

  variables {
    hash_key = ""
  }

  expect_failures = [var.hash_key]
}

run "range_key_empty" {
  command = plan

  variables {
    range_key = ""
  }

  expect_failures = [var.range_key]
}

run "attributes_unknown_type" {
  command = plan

  variables {
    attributes = [{ name = "user_id", type = "UUID" }]
  }

  expect_failures = [var.attributes]
}

run "attributes_twice" {
  command = plan

  variables {
    attributes = [{ name = "user_id", type = "S" }, { name = "user_id", type = "N" }]
  }

  expect_failures = [var.attributes]
}

run "attributes_key_missing" {
  command = plan

  variables {
    range_key = "visited_at"
  }

  expect_failures = [var.attributes]
}

run "attributes_unused" {
  command = plan

  variables {
    attributes = [{ name = "user_id", type = "S" }, { name = "page", type = "S" }]
  }

  expect_failures = [var.attributes]
}

run "billing_mode_unknown" {
  command = plan

  variables {
    billing_mode = "ON_DEMAND"
  }

  expect_failures = [var.billing_mode]
}

run "read_capacity_zero" {
  command = plan

  variables {
    read_capacity = 0
  }

  expect_failures = [var.read_capacity]
}

run "write_capacity_zero" {
  command = plan

  variables {
    write_capacity = 0
  }

  expect_failures = [var.write_capacity]
}

run "global_secondary_indexes_unknown_projection" {
  command = plan

  variables {
    global_secondary_indexes = [{ name = "i", hash_key = "user_id", projection_type = "SOME" }]
  }

  expect_failures = [var.global_secondary_indexes]
}

run "global_secondary_indexes_include_nothing" {
  command = plan

  variables {
    global_secondary_indexes = [{ name = "i", hash_key = "user_id", projection_type = "INCLUDE" }]
  }

  expect_failures = [var.global_secondary_indexes]
}

run "global_secondary_indexes_twice" {
  command = plan

  variables {
    global_secondary_indexes = [{ name = "i", hash_key = "user_id" }, { name = "i", hash_key = "user_id" }]
  }

  expect_failures = [var.global_secondary_indexes]
}

run "stream_view_type_unknown" {
  command = plan

  variables {
    stream_view_type = "ALL"
  }

  expect_failures = [var.stream_view_type]
}

run "kms_key_arn_key_id" {
  command = plan

  variables {
    kms_key_arn = "11111111-2222"
  }

  expect_failures = [var.kms_key_arn]
}

run "table_name_override_too_short" {
  command = plan

  variables {
    table_name_override = "ab"
  }

  expect_failures = [var.table_name_override]
}
