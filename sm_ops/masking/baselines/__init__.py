"""What surprise masking is compared with: one file per baseline.

Each offers `mask(records, tokens, **settings)`: `tokens` are each record's downstream tokens, the answer is one
boolean array per record.
"""
