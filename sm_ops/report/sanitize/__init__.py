"""The report of a sanitization: which filter to take, at which threshold, what it removes and what it misses."""
