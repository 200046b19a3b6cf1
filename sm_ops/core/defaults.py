"""What configs, the library and the command line take where nothing is said."""

TARGETS = (0.5, 0.7, 0.9, 0.95)
"""Target recalls, each of which is an operating point."""
ACCEPTABLE_COLLATERAL = 0.25
"""Largest collateral masking rate."""
MACHINE_HOUR = 5.0
"""US dollars for an hour of a warm H200 (paper F.4)."""
