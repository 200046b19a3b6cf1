"""Whole outputs ranked by surprise: pairs of a risky and a safe completion, scores of each, and what they separate."""
