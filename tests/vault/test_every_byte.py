"""Every byte of a small dataset, flipped, and every length that its files can be cut to."""

from __future__ import annotations

from test_damage import damage, full

__all__ = ["full"]


def test_every_flipped_byte_and_every_cut_is_refused(full):
    assert damage(full, step=1) > 1500
