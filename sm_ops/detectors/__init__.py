"""Detectors: ready-made filters that find private values in texts; one file per detector in `members`."""
