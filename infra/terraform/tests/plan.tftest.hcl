# What is planned, without AWS: every answer of the provider is made up.

mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{}" }
  }
  mock_resource "aws_kms_key" {
    defaults = { arn = "arn:aws:kms:eu-central-1:123456789012:key/00000000-0000-0000-0000-000000000000" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/sm-ops-job" }
  }
  mock_resource "aws_s3_bucket" {
    defaults = { arn = "arn:aws:s3:::a-bucket" }
  }
}

variables {
  region     = "eu-central-1"
  launchers  = ["arn:aws:iam::123456789012:role/launcher"]
  publishers = ["arn:aws:iam::123456789012:role/publisher"]
}

run "buckets" {
  module {
    source = "./modules/bucket"
  }
  variables {
    name         = "a-bucket"
    kms_key      = "arn:aws:kms:eu-central-1:123456789012:key/00000000-0000-0000-0000-000000000000"
    keep_days    = 30
    lock         = { mode = "COMPLIANCE", days = 365 }
    only_allowed = ["arn:aws:iam::123456789012:role/sm-ops-job"]
  }

  assert {
    condition     = aws_s3_bucket.this.object_lock_enabled && aws_s3_bucket_object_lock_configuration.this[0].rule[0].default_retention[0].mode == "COMPLIANCE"
    error_message = "Object Lock is not as asked for."
  }
  assert {
    condition     = aws_s3_bucket_versioning.this.versioning_configuration[0].status == "Enabled"
    error_message = "The bucket keeps no versions."
  }
  assert {
    condition = alltrue([
      aws_s3_bucket_public_access_block.this.block_public_acls,
      aws_s3_bucket_public_access_block.this.block_public_policy,
      aws_s3_bucket_public_access_block.this.ignore_public_acls,
      aws_s3_bucket_public_access_block.this.restrict_public_buckets,
    ])
    error_message = "Public access is not blocked."
  }
  assert {
    condition     = one(aws_s3_bucket_server_side_encryption_configuration.this.rule).apply_server_side_encryption_by_default[0].sse_algorithm == "aws:kms"
    error_message = "The bucket is not encrypted under a key of KMS."
  }
  assert {
    condition = toset([for each in data.aws_iam_policy_document.this.statement : each.sid if each.effect == "Deny"]) == toset([
      "DenyWithoutTls", "DenyOldTls", "DenyOtherKeys", "DenyOtherEncryption", "DenyOthers",
    ])
    error_message = "The bucket's policy lacks a refusal."
  }
}

run "whole" {
  assert {
    condition     = output.inventory.format == "sagemaker-inventory/1" && output.inventory.account == "123456789012"
    error_message = "The inventory is not what sm-ops reads."
  }
  assert {
    condition     = aws_kms_key.jobs.enable_key_rotation && aws_kms_key.releases.enable_key_rotation
    error_message = "A key is not rotated."
  }
  assert {
    condition     = aws_ecr_repository.worker.image_tag_mutability == "IMMUTABLE"
    error_message = "An image could be replaced under its name."
  }
  assert {
    condition = alltrue([
      for each in data.aws_iam_policy_document.job.statement : !contains(each.actions, "*") && !anytrue([for action in each.actions : endswith(action, ":*")])
    ])
    error_message = "A job may do more than what is named."
  }
  assert {
    condition = toset(flatten([
      for each in data.aws_iam_policy_document.job.statement : each.sid if contains(each.resources, "*")
    ])) == toset(["LogIn"])
    error_message = "A job may act on more than what is named."
  }
  assert {
    condition = !anytrue([
      for each in data.aws_iam_policy_document.job.statement : contains(each.actions, "s3:DeleteObject") || anytrue([for action in each.actions : startswith(action, "iam:")])
    ])
    error_message = "A job may delete, or change rights."
  }
}

run "a_network" {
  command = plan
  variables {
    network = { subnets = ["subnet-1"], security_groups = ["sg-1"] }
  }
  assert {
    condition     = length([for each in one([for s in data.aws_iam_policy_document.launcher.statement : s if s.sid == "SubmitIsolated"]).condition : each if each.variable == "sagemaker:VpcSubnets"]) == 2
    error_message = "A launcher may submit outside of the network."
  }
}

run "a_lock_of_no_known_mode" {
  command = plan
  variables {
    record_lock = { mode = "SOFT", days = 1 }
  }
  expect_failures = [var.record_lock]
}

run "a_launcher_without_an_arn" {
  command = plan
  variables {
    launchers = ["*"]
  }
  expect_failures = [var.launchers]
}

run "a_stand_in_elsewhere" {
  command = plan
  variables {
    endpoint = "http://192.0.2.1:5000"
  }
  expect_failures = [var.endpoint]
}
