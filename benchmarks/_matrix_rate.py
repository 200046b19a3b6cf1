"""What a device reaches in large matrix products, for shares of it."""

from __future__ import annotations

import time

ROUNDS = 20


def matrix_rate(device: str = "cuda", size: int = 8192) -> float:
    """Operations a second of bf16 products of square matrices, two for each multiplication and addition."""
    import torch

    a, b = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    seconds = 0.0
    for rounds in (3, ROUNDS):
        settled(device)
        start = time.perf_counter()
        for _ in range(rounds):
            a @ b
        settled(device)
        seconds = time.perf_counter() - start
    return ROUNDS * 2 * size**3 / seconds


def settled(device: str) -> None:
    """Wait for what the device was given."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()
