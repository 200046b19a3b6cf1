# One bucket: versions, no public access, no ACLs, TLS alone, encryption under a named key, access logged.

data "aws_partition" "current" {}

resource "aws_s3_bucket" "this" {
  bucket              = var.name
  object_lock_enabled = var.lock != null
}

resource "aws_s3_bucket_versioning" "this" {
  bucket = aws_s3_bucket.this.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_public_access_block" "this" {
  bucket                  = aws_s3_bucket.this.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    bucket_key_enabled = var.kms_key != null

    apply_server_side_encryption_by_default {
      sse_algorithm     = var.kms_key == null ? "AES256" : "aws:kms"
      kms_master_key_id = var.kms_key
    }
  }
}

resource "aws_s3_bucket_object_lock_configuration" "this" {
  count      = var.lock == null ? 0 : 1
  bucket     = aws_s3_bucket.this.id
  depends_on = [aws_s3_bucket_versioning.this]

  rule {
    default_retention {
      mode = var.lock.mode
      days = var.lock.days
    }
  }
}

resource "aws_s3_bucket_logging" "this" {
  count         = var.logs == null ? 0 : 1
  bucket        = aws_s3_bucket.this.id
  target_bucket = var.logs.bucket
  target_prefix = "${var.name}/"
}

resource "aws_s3_bucket_lifecycle_configuration" "this" {
  bucket     = aws_s3_bucket.this.id
  depends_on = [aws_s3_bucket_versioning.this]

  rule {
    id     = "unfinished"
    status = "Enabled"
    filter {}

    abort_incomplete_multipart_upload {
      days_after_initiation = 7
    }
  }

  dynamic "rule" {
    for_each = var.keep_days == null ? [] : [var.keep_days]
    content {
      id     = "expire"
      status = "Enabled"
      filter {}

      expiration {
        days = rule.value
      }

      abort_incomplete_multipart_upload {
        days_after_initiation = 7
      }

      noncurrent_version_expiration {
        noncurrent_days = 30
      }
    }
  }
}

resource "aws_s3_bucket_policy" "this" {
  bucket     = aws_s3_bucket.this.id
  policy     = data.aws_iam_policy_document.this.json
  depends_on = [aws_s3_bucket_public_access_block.this]
}

data "aws_iam_policy_document" "this" {
  statement {
    sid       = "DenyWithoutTls"
    effect    = "Deny"
    actions   = ["s3:*"]
    resources = [aws_s3_bucket.this.arn, "${aws_s3_bucket.this.arn}/*"]
    principals {
      type        = "AWS"
      identifiers = ["*"]
    }
    condition {
      test     = "Bool"
      variable = "aws:SecureTransport"
      values   = ["false"]
    }
  }

  statement {
    sid       = "DenyOldTls"
    effect    = "Deny"
    actions   = ["s3:*"]
    resources = [aws_s3_bucket.this.arn, "${aws_s3_bucket.this.arn}/*"]
    principals {
      type        = "AWS"
      identifiers = ["*"]
    }
    condition {
      test     = "NumericLessThan"
      variable = "s3:TlsVersion"
      values   = ["1.2"]
    }
  }

  # Without a header the default encryption applies; with one it has to name the same key.
  dynamic "statement" {
    for_each = var.kms_key == null ? [] : [var.kms_key]
    content {
      sid       = "DenyOtherKeys"
      effect    = "Deny"
      actions   = ["s3:PutObject"]
      resources = ["${aws_s3_bucket.this.arn}/*"]
      principals {
        type        = "*"
        identifiers = ["*"]
      }
      condition {
        test     = "StringNotEqualsIfExists"
        variable = "s3:x-amz-server-side-encryption-aws-kms-key-id"
        values   = [statement.value]
      }
    }
  }

  dynamic "statement" {
    for_each = var.kms_key == null ? [] : [var.kms_key]
    content {
      sid       = "DenyOtherEncryption"
      effect    = "Deny"
      actions   = ["s3:PutObject"]
      resources = ["${aws_s3_bucket.this.arn}/*"]
      principals {
        type        = "*"
        identifiers = ["*"]
      }
      condition {
        test     = "StringNotEqualsIfExists"
        variable = "s3:x-amz-server-side-encryption"
        values   = ["aws:kms"]
      }
    }
  }

  dynamic "statement" {
    for_each = length(var.only_allowed) == 0 ? [] : [var.only_allowed]
    content {
      sid       = "DenyOthers"
      effect    = "Deny"
      actions   = ["s3:GetObject*", "s3:PutObject*", "s3:DeleteObject*"]
      resources = ["${aws_s3_bucket.this.arn}/*"]
      principals {
        type        = "*"
        identifiers = ["*"]
      }
      condition {
        test     = "ArnNotEquals"
        variable = "aws:PrincipalArn"
        values   = statement.value
      }
    }
  }

  dynamic "statement" {
    for_each = var.log_source == null ? [] : [var.log_source]
    content {
      sid       = "TakeAccessLogs"
      actions   = ["s3:PutObject"]
      resources = ["${aws_s3_bucket.this.arn}/*"]
      principals {
        type        = "Service"
        identifiers = ["logging.s3.amazonaws.com"]
      }
      condition {
        test     = "StringEquals"
        variable = "aws:SourceAccount"
        values   = [statement.value.account]
      }
      condition {
        test     = "ArnLike"
        variable = "aws:SourceArn"
        values   = [for bucket in statement.value.buckets : "arn:${data.aws_partition.current.partition}:s3:::${bucket}"]
      }
    }
  }
}
