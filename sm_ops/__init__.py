"""What each protection of private training data costs and gains, measured on your own data."""

__version__ = "0.1.0"
