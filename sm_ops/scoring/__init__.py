"""Reference scores: tokens in canonical coordinates and their log probabilities under a reference model."""
