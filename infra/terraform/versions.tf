terraform {
  required_version = ">= 1.9"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.80"
    }
  }
}

# Credentials and region come from the environment, as for every other command. `endpoint` is for a stand-in on loopback,
# which has neither accounts to check nor virtual host names.
provider "aws" {
  region                      = var.region
  s3_use_path_style           = local.stand_in
  skip_credentials_validation = local.stand_in
  skip_metadata_api_check     = local.stand_in
  skip_requesting_account_id  = false
  max_retries                 = local.stand_in ? 1 : null

  default_tags {
    tags = { project = "sm-ops" }
  }

  dynamic "endpoints" {
    for_each = local.stand_in ? [var.endpoint] : []
    content {
      ecr            = endpoints.value
      iam            = endpoints.value
      kms            = endpoints.value
      s3             = endpoints.value
      sagemaker      = endpoints.value
      sts            = endpoints.value
      cloudwatchlogs = endpoints.value
    }
  }
}
