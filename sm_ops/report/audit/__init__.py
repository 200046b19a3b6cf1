"""The report of a leakage audit: what each defence costs and leaves, what was tried on it, and what was not."""
