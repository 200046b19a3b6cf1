output "name" {
  description = "The bucket's name"
  value       = aws_s3_bucket.this.id
  depends_on  = [aws_s3_bucket_policy.this] # without it no logs are taken
}

output "arn" {
  description = "The bucket's ARN"
  value       = aws_s3_bucket.this.arn
}
