"""What is chosen of a text, by names of windows: sentences are sent to a rewriter, segments are masked (D.5)."""

UNITS = ("sentence", "segment")
