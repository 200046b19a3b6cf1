"""Attacks: one file in `members` per attack, each offering `run(model, material, settings, seed, progress)`."""
