"""What a model computes with: names of number formats and devices, and what this machine has of them."""

from __future__ import annotations

from sm_ops.core.errors import InputError

DTYPES = ("float32", "bfloat16", "auto")
DEVICES = ("auto", "cpu", "cuda")


def pick_device(name: object) -> str:
    """`auto` is the GPU when torch sees one. Raises `InputError` for another name, and for a GPU that is not there."""
    import torch

    one_of("device", name, DEVICES)
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("no-gpu", "device is cuda, but torch sees no GPU; set device to auto or cpu.")
    return "cuda" if name != "cpu" and torch.cuda.is_available() else "cpu"


def gpus() -> list[str]:
    """Name and memory of each GPU that torch sees."""
    import torch

    found = (torch.cuda.get_device_properties(number) for number in range(torch.cuda.device_count()))
    return [f"{each.name} with {each.total_memory / 2**30:.0f} GiB" for each in found]


def pick_dtype(name: object) -> str:
    """The name as transformers takes it; `auto` is what the weights are stored in. Raises `InputError` for another."""
    return one_of("dtype", name, DTYPES)


def positive(setting: str, value: object) -> int:
    """The value where it is a positive whole number; raises `InputError` that names the setting."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError("bad-setting", f"{setting} is {value!r}, but must be a whole number of at least 1.")
    return value


def one_of(setting: str, value: object, names: tuple[str, ...]) -> str:
    """The value where it is one of the names; raises `InputError` that names the setting."""
    if value not in names:
        raise InputError("bad-setting", f"{setting} is {value!r}, but must be one of {', '.join(names)}.")
    return str(value)
