variable "region" {
  description = "Where everything lies; a bucket and the jobs that read it have to be in one region."
  type        = string

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "A region reads like eu-central-1."
  }
}

variable "name" {
  description = "Begin of every name; buckets are also named by account and region."
  type        = string
  default     = "sm-ops"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,18}[a-z0-9]$", var.name))
    error_message = "The name is 3 to 20 of a-z, 0-9 and '-', beginning with a letter."
  }
}

variable "launchers" {
  description = "ARNs of the roles or users that submit jobs and bring back aggregates; nobody else may read the jobs' bucket."
  type        = set(string)

  validation {
    condition     = length(var.launchers) > 0 && alltrue([for arn in var.launchers : can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/", arn))])
    error_message = "Name at least one launcher, each by the ARN of a role or a user."
  }
}

variable "publishers" {
  description = "ARNs of the roles or users that publish releases."
  type        = set(string)

  validation {
    condition     = length(var.publishers) > 0 && alltrue([for arn in var.publishers : can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/", arn))])
    error_message = "Name at least one publisher, each by the ARN of a role or a user."
  }
}

variable "readers" {
  description = "ARNs of the roles or users that fetch releases."
  type        = set(string)
  default     = []

  validation {
    condition     = alltrue([for arn in var.readers : can(regex("^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/", arn))])
    error_message = "A reader is named by the ARN of a role or a user."
  }
}

variable "instances" {
  description = "Machines that a launcher may ask for."
  type        = list(string)
  default     = ["ml.g5.xlarge", "ml.g5.2xlarge"]

  validation {
    condition     = length(var.instances) > 0 && alltrue([for each in var.instances : can(regex("^ml\\.[a-z0-9-]+\\.[a-z0-9-]+$", each))])
    error_message = "A machine reads like ml.g5.xlarge."
  }
}

variable "network" {
  description = "Subnets and security groups for jobs; null: the service's own network, from which an isolated job reaches nothing."
  type = object({
    subnets         = list(string)
    security_groups = list(string)
  })
  default = null

  validation {
    condition     = var.network == null || (length(try(var.network.subnets, [])) > 0 && length(try(var.network.security_groups, [])) > 0)
    error_message = "A network has at least one subnet and one security group."
  }
}

variable "record_lock" {
  description = "Object Lock of what is published and says no mode of its own: mode and days."
  type = object({
    mode = string
    days = number
  })
  default = { mode = "GOVERNANCE", days = 1 }

  validation {
    condition     = contains(["GOVERNANCE", "COMPLIANCE"], var.record_lock.mode) && var.record_lock.days >= 1 && var.record_lock.days <= 36500
    error_message = "The mode is GOVERNANCE or COMPLIANCE, for 1 to 36500 days."
  }
}

variable "keep_days" {
  description = "Days after which inputs, checkpoints and results of jobs are removed."
  type        = number
  default     = 90

  validation {
    condition     = var.keep_days >= 1
    error_message = "Jobs' files are kept for at least a day."
  }
}

variable "endpoint" {
  description = "Address of a stand-in for AWS, for tests."
  type        = string
  default     = null

  validation {
    condition     = var.endpoint == null || can(regex("^http://(127\\.0\\.0\\.1|localhost):[0-9]+$", var.endpoint))
    error_message = "A stand-in listens on loopback alone."
  }
}
