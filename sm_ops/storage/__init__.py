"""The home of boto3: services of AWS behind plain functions, failures as sentences."""
