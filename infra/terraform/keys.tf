# Who may use which key. Administration is the account's own (its IAM policies); use is named here.

data "aws_iam_policy_document" "jobs_key" {
  source_policy_documents = [data.aws_iam_policy_document.administered.json]

  statement {
    sid       = "UseByServices"
    actions   = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"]
    resources = ["*"] # of this key
    principals {
      type        = "Service"
      identifiers = ["logs.${var.region}.amazonaws.com"]
    }
    condition {
      test     = "ArnLike"
      variable = "kms:EncryptionContext:aws:logs:arn"
      values   = ["arn:${local.partition}:logs:${var.region}:${local.account}:log-group:/aws/sagemaker/TrainingJobs"]
    }
  }
}

data "aws_iam_policy_document" "releases_key" {
  source_policy_documents = [data.aws_iam_policy_document.administered.json]
}

data "aws_iam_policy_document" "administered" {
  #checkov:skip=CKV_AWS_109:in a key's policy the resource is that key
  #checkov:skip=CKV_AWS_111:in a key's policy the resource is that key
  #checkov:skip=CKV_AWS_356:in a key's policy the resource is that key
  statement {
    sid       = "AccountDecidesByIam"
    actions   = ["kms:*"]
    resources = ["*"] # of this key
    principals {
      type        = "AWS"
      identifiers = ["arn:${local.partition}:iam::${local.account}:root"]
    }
  }
}
