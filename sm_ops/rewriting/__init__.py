"""Rewriting as an intervention: a language model behind an endpoint rewrites texts or sentences (paper A.6, F.4)."""
