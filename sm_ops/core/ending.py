"""An ordered end: SIGTERM asks a process to leave, and what a moment can save is saved first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 15
"""Seconds that a process has to leave in order; then it is killed."""


@contextmanager
def deferred() -> Iterator[Callable[[], bool]]:
    """While inside, SIGTERM is only noted; what is yielded tells whether it came. On leaving it takes its effect.

    Training asks after each optimiser step, writes a checkpoint and leaves. Outside the main thread none is deferred.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    asked = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda *_: asked.set())
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGTERM, before)
    if asked.is_set():
        signal.raise_signal(signal.SIGTERM)
        raise KeyboardInterrupt  # where SIGTERM is ignored: what was cut short must not pass for whole
