"""Is all well here: what `sm-ops doctor` looks at, a file for each kind of check."""
