"""Kernels: loops over flat arrays, compiled by numba where the work is large enough to pay for it.

Without numba, or for little work, a kernel runs as plain Python with the same results. Nothing is kept on disk: numba
names the files of its cache by a count that it reads without a lock, so two processes may load each other's code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

WORTH = 1_000_000
"""Length of a kernel's first array from which it pays to compile: 0.2 to 1 s each, and 0.7 s once for numba."""


class Kernel:
    """A function over arrays that is compiled for large ones; `compiled` makes them."""

    def __init__(self, source: Callable[..., Any], plain: Callable[..., Any]) -> None:
        self.source, self.plain = source, plain
        self._code: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Run compiled code where there is any for such arguments or the work is large, else plain Python."""
        types = tuple(map(_type, arguments))
        if types not in self._code and len(arguments[0]) >= WORTH and (numba := _numba()):
            self._code[types] = numba.njit(self.source, error_model="numpy")
        return self._code.get(types, self.plain)(*arguments)


def compiled(
    *, writes: tuple[str, ...] = (), plain: Callable[..., Any] | None = None
) -> Callable[[Callable[..., Any]], Kernel]:
    """Make a kernel of a function over one-dimensional arrays and numbers that allocates nothing.

    Its results are in the arrays that it is given to write. `plain` is a function in NumPy that does the same; without
    one, the kernel's own source runs as plain Python, and `writes` names the parameters that it writes.
    """

    def kernel(source: Callable[..., Any]) -> Kernel:
        return Kernel(source, plain or _on_lists(source, writes))

    return kernel


def _on_lists(source: Callable[..., Any], writes: tuple[str, ...]) -> Callable[..., Any]:
    """Lists are indexed several times faster than arrays."""
    parameters = source.__code__.co_varnames[: source.__code__.co_argcount]

    def plain(*arguments: Any) -> Any:
        lists = [each.tolist() if isinstance(each, np.ndarray) else each for each in arguments]
        result = source(*lists)
        for parameter, argument, values in zip(parameters, arguments, lists, strict=True):
            if parameter in writes:
                argument[:] = values
        return result

    return plain


def _type(argument: Any) -> Any:
    """What numba makes code of its own for."""
    if not isinstance(argument, np.ndarray):
        return type(argument)
    return argument.dtype, argument.flags.c_contiguous, argument.flags.writeable


@cache
def _numba() -> Any:
    try:
        import numba
    except ImportError:  # absent, or made for another NumPy
        return None
    return numba
