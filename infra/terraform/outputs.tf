output "inventory" {
  description = "What `sm-ops sagemaker` works with: terraform output -json inventory > .sm-ops/sagemaker/inventory.json"
  value = {
    format              = "sagemaker-inventory/1"
    account             = local.account
    region              = var.region
    role                = aws_iam_role.job.arn
    bucket              = module.jobs.name
    prefix              = local.prefix
    kms_key             = aws_kms_key.jobs.arn
    subnets             = try(var.network.subnets, [])
    security_groups     = try(var.network.security_groups, [])
    model_package_group = aws_sagemaker_model_package_group.models.model_package_group_name
  }
}

output "repository" {
  description = "Where the worker's image is pushed"
  value       = aws_ecr_repository.worker.repository_url
}

output "releases" {
  description = "Where releases are published: sm-ops release publish --to s3://BUCKET/PREFIX"
  value       = module.releases.name
}

output "policies" {
  description = "What to attach to launchers, publishers and readers"
  value = {
    launcher  = aws_iam_policy.launcher.arn
    publisher = aws_iam_policy.publisher.arn
    reader    = aws_iam_policy.reader.arn
  }
}
