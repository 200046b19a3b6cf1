"""What measured conditions say together: the frontier of leakage and utility, and the claims on it."""
