variable "name" {
  description = "The bucket's name"
  type        = string
}

variable "kms_key" {
  description = "ARN of the key that everything is encrypted under; null: S3's own keys, which access logs need"
  type        = string
}

variable "keep_days" {
  description = "Days after which objects are removed; null: never"
  type        = number
  default     = null
}

variable "logs" {
  description = "The bucket that access is logged to; null for that bucket itself"
  type        = object({ bucket = string })
  default     = null
}

variable "lock" {
  description = "Object Lock, with the mode and days of objects that name none"
  type = object({
    mode = string
    days = number
  })
  default = null
}

variable "only_allowed" {
  description = "ARNs that alone may read and write objects, whatever their own policies say; empty: no such limit"
  type        = list(string)
  default     = []
}

variable "log_source" {
  description = "The account and the buckets whose access is logged to this one"
  type = object({
    account = string
    buckets = list(string)
  })
  default = null
}
