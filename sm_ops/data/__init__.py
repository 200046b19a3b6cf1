"""Data: records and their files, host programs, planted values, datasets, and the audit over them."""
