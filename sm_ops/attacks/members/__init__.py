"""Attacks: one file a member, its name is the public name."""
