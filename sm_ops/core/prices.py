"""Prices that a config may set and the paper assumes, in US dollars."""

MACHINE_HOUR = 5.0
"""An hour of a warm H200 (paper F.4); a config's `prices.machine_hour` is the user's."""
