"""The spine: stages, identity, store, types. Standard library, filelock, and pydantic for config alone."""
