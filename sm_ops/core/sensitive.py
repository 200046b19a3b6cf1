"""A type for values that no log, error, pickle or JSON may hold."""

from __future__ import annotations

from typing import Any, Generic, NoReturn, TypeVar

T = TypeVar("T")
MASK = "[sensitive]"


class Sensitive(Generic[T]):
    """Holds a value that prints and formats as a mask and refuses to be serialised or copied.

    `.reveal()` is the only way out; the modules that may call it are listed in a test.
    """

    __slots__ = ("__value",)

    def __init__(self, value: T) -> None:
        self.__value = value

    def reveal(self) -> T:
        """The value itself."""
        return self.__value

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sensitive) and self.__value == other.__value

    def __hash__(self) -> int:
        return hash(self.__value)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a sensitive value cannot be pickled or copied")

    def __getstate__(self) -> NoReturn:
        raise TypeError("a sensitive value cannot be pickled or copied")
