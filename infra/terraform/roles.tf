# The role that jobs run as, and what launchers, publishers and readers may do.

locals {
  below = "${module.jobs.arn}/${local.prefix}"
  jobs  = "arn:${local.partition}:sagemaker:${var.region}:${local.account}:training-job/*"
}

resource "aws_iam_role" "job" {
  name                 = "${var.name}-job"
  assume_role_policy   = data.aws_iam_policy_document.job_trust.json
  max_session_duration = 3600
}

data "aws_iam_policy_document" "job_trust" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["sagemaker.amazonaws.com"]
    }
    condition {
      test     = "StringEquals"
      variable = "aws:SourceAccount"
      values   = [local.account]
    }
  }
}

resource "aws_iam_role_policy" "job" {
  name   = "job"
  role   = aws_iam_role.job.id
  policy = data.aws_iam_policy_document.job.json
}

data "aws_iam_policy_document" "job" {
  statement {
    sid       = "ReadInputs"
    actions   = ["s3:GetObject"]
    resources = ["${local.below}/inputs/*"]
  }

  statement {
    sid       = "KeepCheckpoints"
    actions   = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"]
    resources = ["${local.below}/checkpoints/*"]
  }

  statement {
    sid       = "WriteResults"
    actions   = ["s3:PutObject", "s3:AbortMultipartUpload"]
    resources = ["${local.below}/outputs/*"]
  }

  statement {
    sid       = "ListOwn"
    actions   = ["s3:ListBucket"]
    resources = [module.jobs.arn]
    condition {
      test     = "StringLike"
      variable = "s3:prefix"
      values   = ["${local.prefix}/inputs/*", "${local.prefix}/checkpoints/*", "${local.prefix}/outputs/*"]
    }
  }

  statement {
    sid       = "UseKey"
    actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
    resources = [aws_kms_key.jobs.arn]
  }

  statement {
    sid       = "EncryptVolumes"
    actions   = ["kms:CreateGrant"]
    resources = [aws_kms_key.jobs.arn]
    condition {
      test     = "Bool"
      variable = "kms:GrantIsForAWSResource"
      values   = ["true"]
    }
  }

  statement {
    sid       = "PullImage"
    actions   = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
    resources = [aws_ecr_repository.worker.arn]
  }

  statement {
    sid       = "LogIn" # takes no resource
    actions   = ["ecr:GetAuthorizationToken"]
    resources = ["*"]
  }

  statement {
    sid       = "WriteLog"
    actions   = ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"]
    resources = ["${aws_cloudwatch_log_group.jobs.arn}:*"]
  }

  dynamic "statement" {
    for_each = var.network == null ? [] : [var.network]
    content {
      sid = "JoinNetwork" # describing takes no resource
      actions = [
        "ec2:CreateNetworkInterface", "ec2:CreateNetworkInterfacePermission", "ec2:DeleteNetworkInterface",
        "ec2:DeleteNetworkInterfacePermission", "ec2:DescribeDhcpOptions", "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs",
      ]
      resources = ["*"]
    }
  }
}

resource "aws_iam_policy" "launcher" {
  name        = "${var.name}-launcher"
  description = "Submit isolated, encrypted jobs on the named machines, look after them, bring back aggregates, tear down"
  policy      = data.aws_iam_policy_document.launcher.json
}

data "aws_iam_policy_document" "launcher" {
  statement {
    sid       = "SubmitIsolated"
    actions   = ["sagemaker:CreateTrainingJob"]
    resources = [local.jobs]
    condition {
      test     = "Bool"
      variable = "sagemaker:NetworkIsolation"
      values   = ["true"]
    }
    condition {
      test     = "ForAllValues:StringEquals"
      variable = "sagemaker:InstanceTypes"
      values   = var.instances
    }
    condition {
      test     = "Null" # without the key in the request, "for all values" would hold
      variable = "sagemaker:InstanceTypes"
      values   = ["false"]
    }
    condition {
      test     = "ArnEquals"
      variable = "sagemaker:OutputKmsKey"
      values   = [aws_kms_key.jobs.arn]
    }
    dynamic "condition" {
      for_each = var.network == null ? {} : {
        "ForAllValues:StringEquals" = var.network.subnets
        "Null"                      = ["false"]
      }
      content {
        test     = condition.key
        variable = "sagemaker:VpcSubnets"
        values   = condition.value
      }
    }
  }

  statement {
    sid       = "LookAfter"
    actions   = ["sagemaker:AddTags", "sagemaker:DescribeTrainingJob"]
    resources = [local.jobs]
  }

  statement {
    sid       = "StopOwn"
    actions   = ["sagemaker:StopTrainingJob"]
    resources = [local.jobs]
    condition {
      test     = "StringEquals"
      variable = "aws:ResourceTag/project"
      values   = ["sm-ops"]
    }
  }

  statement {
    sid       = "PassRole"
    actions   = ["iam:PassRole"]
    resources = [aws_iam_role.job.arn]
    condition {
      test     = "StringEquals"
      variable = "iam:PassedToService"
      values   = ["sagemaker.amazonaws.com"]
    }
  }

  statement {
    sid       = "SendInputs"
    actions   = ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload"]
    resources = ["${local.below}/inputs/*"]
  }

  statement {
    sid       = "FetchAggregates"
    actions   = ["s3:GetObject"]
    resources = ["${local.below}/outputs/*/output/output.tar.gz"]
  }

  statement {
    sid       = "TearDown"
    actions   = ["s3:DeleteObject", "s3:DeleteObjectVersion", "s3:AbortMultipartUpload"]
    resources = ["${local.below}/*"]
  }

  statement {
    sid = "LookAtBucket"
    actions = [
      "s3:GetBucketPolicy", "s3:GetBucketPublicAccessBlock", "s3:GetBucketVersioning", "s3:GetEncryptionConfiguration",
      "s3:ListBucket", "s3:ListBucketMultipartUploads", "s3:ListBucketVersions",
    ]
    resources = [module.jobs.arn]
  }

  statement {
    sid       = "UseKey"
    actions   = ["kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey"]
    resources = [aws_kms_key.jobs.arn]
  }

  statement {
    sid       = "LookAtRole"
    actions   = ["iam:GetRole"]
    resources = [aws_iam_role.job.arn]
  }

  statement {
    sid       = "LookAtImage"
    actions   = ["ecr:DescribeImages"]
    resources = [aws_ecr_repository.worker.arn]
  }

  statement {
    sid     = "RegisterModels"
    actions = ["sagemaker:CreateModelPackage", "sagemaker:DescribeModelPackage", "sagemaker:ListModelPackages"]
    resources = [
      aws_sagemaker_model_package_group.models.arn,
      "arn:${local.partition}:sagemaker:${var.region}:${local.account}:model-package/${var.name}-models/*",
    ]
  }

  statement {
    sid       = "LookAtQuotas"
    actions   = ["servicequotas:ListServiceQuotas"]
    resources = ["*"] # takes no resource
  }
}

resource "aws_iam_policy" "publisher" {
  name        = "${var.name}-publisher"
  description = "Publish releases, each object once"
  policy      = data.aws_iam_policy_document.publisher.json
}

data "aws_iam_policy_document" "publisher" {
  statement {
    sid = "WriteOnce"
    actions = [
      "s3:AbortMultipartUpload", "s3:GetObject", "s3:GetObjectRetention", "s3:PutObject", "s3:PutObjectRetention",
    ]
    resources = ["${module.releases.arn}/*"]
  }

  statement {
    sid       = "RemoveStaging"
    actions   = ["s3:DeleteObject", "s3:DeleteObjectVersion", "s3:BypassGovernanceRetention"]
    resources = ["${module.releases.arn}/*"]
  }

  statement {
    sid = "LookAtBucket"
    actions = [
      "s3:GetBucketObjectLockConfiguration", "s3:GetBucketVersioning", "s3:ListBucket", "s3:ListBucketMultipartUploads",
      "s3:ListBucketVersions",
    ]
    resources = [module.releases.arn]
  }

  statement {
    sid       = "UseKey"
    actions   = ["kms:Decrypt", "kms:GenerateDataKey"]
    resources = [aws_kms_key.releases.arn]
  }
}

resource "aws_iam_policy" "reader" {
  name        = "${var.name}-reader"
  description = "Fetch releases"
  policy      = data.aws_iam_policy_document.reader.json
}

data "aws_iam_policy_document" "reader" {
  statement {
    sid       = "Read"
    actions   = ["s3:GetObject"]
    resources = ["${module.releases.arn}/*"]
  }

  statement {
    sid       = "List"
    actions   = ["s3:ListBucket"]
    resources = [module.releases.arn]
  }

  statement {
    sid       = "UseKey"
    actions   = ["kms:Decrypt"]
    resources = [aws_kms_key.releases.arn]
  }
}
