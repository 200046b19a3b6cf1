"""Attacks: one file per attack, each offering `run(model, tokenizer, canaries, settings, seed)`."""
