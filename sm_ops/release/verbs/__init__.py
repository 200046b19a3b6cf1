"""The verbs of a release: one file each, an idempotent function over files and one line of the log."""
