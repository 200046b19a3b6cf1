"""Whole outputs ranked by a score: fabricated citations, risky advice, insecure code, any pairs (paper A.7, D.4)."""
