"""What a policy may ask of a release's evidence: a file here is a check, its name is the check's public name."""
