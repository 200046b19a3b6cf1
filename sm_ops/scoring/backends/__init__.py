"""Reference models: one file per backend, each offering `load(settings) -> Reference`."""
