"""One file per detector, each offering `load(settings) -> Detector`; heavy packages are imported inside."""
