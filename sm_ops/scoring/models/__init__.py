"""Language models that an audit attacks: one module a member of the kind `model`."""
