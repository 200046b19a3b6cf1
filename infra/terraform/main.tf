# What jobs on SageMaker and published releases need: two keys, three buckets, a role for jobs, and who may do what.
#
#   jobs       inputs, checkpoints and results of jobs, restricted: the job's role and the launchers
#   releases   what was published, under Object Lock: publishers write once, readers read
#   logs       who asked for what of the other two

data "aws_caller_identity" "current" {}
data "aws_partition" "current" {}

locals {
  stand_in  = var.endpoint != null
  account   = data.aws_caller_identity.current.account_id
  partition = data.aws_partition.current.partition
  prefix    = "sm-ops"
  bucket    = "${var.name}-${local.account}-${var.region}"
}

resource "aws_kms_key" "jobs" {
  description             = "Inputs, checkpoints, results and logs of jobs"
  enable_key_rotation     = true
  deletion_window_in_days = 30
  policy                  = data.aws_iam_policy_document.jobs_key.json
}

resource "aws_kms_alias" "jobs" {
  name          = "alias/${var.name}-jobs"
  target_key_id = aws_kms_key.jobs.key_id
}

resource "aws_kms_key" "releases" {
  description             = "Published releases"
  enable_key_rotation     = true
  deletion_window_in_days = 30
  policy                  = data.aws_iam_policy_document.releases_key.json
}

resource "aws_kms_alias" "releases" {
  name          = "alias/${var.name}-releases"
  target_key_id = aws_kms_key.releases.key_id
}

module "logs" {
  source    = "./modules/bucket"
  name      = "${local.bucket}-logs"
  kms_key   = null
  keep_days = 400
  log_source = {
    account = local.account
    buckets = ["${local.bucket}-jobs", "${local.bucket}-releases"]
  }
}

module "jobs" {
  source       = "./modules/bucket"
  name         = "${local.bucket}-jobs"
  kms_key      = aws_kms_key.jobs.arn
  keep_days    = var.keep_days
  logs         = { bucket = module.logs.name }
  only_allowed = concat([aws_iam_role.job.arn], sort(var.launchers), ["arn:${local.partition}:iam::${local.account}:root"])
}

module "releases" {
  source  = "./modules/bucket"
  name    = "${local.bucket}-releases"
  kms_key = aws_kms_key.releases.arn
  logs    = { bucket = module.logs.name }
  lock    = var.record_lock
}

resource "aws_ecr_repository" "worker" {
  name                 = "${var.name}-worker"
  image_tag_mutability = "IMMUTABLE"

  encryption_configuration {
    encryption_type = "KMS"
    kms_key         = aws_kms_key.jobs.arn
  }

  image_scanning_configuration {
    scan_on_push = true
  }
}

resource "aws_cloudwatch_log_group" "jobs" {
  name              = "/aws/sagemaker/TrainingJobs"
  retention_in_days = 365
  kms_key_id        = aws_kms_key.jobs.arn
}

resource "aws_sagemaker_model_package_group" "models" {
  model_package_group_name        = "${var.name}-models"
  model_package_group_description = "Models of jobs; an approval here lets nothing out"
}
