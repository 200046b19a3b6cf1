"""YAML as people write settings: plain values, and no key twice."""

from __future__ import annotations

from typing import Any

import yaml
from yaml.scanner import ScannerError

from sm_ops.core.errors import InputError


def parse(text: str | bytes, where: str) -> Any:
    """The value of a text; `InputError` begins with `where` and names the line."""
    try:
        return yaml.load(text.decode() if isinstance(text, bytes) else text, _Loader)
    except UnicodeDecodeError:
        raise InputError("bad-yaml", f"{where}: the file is not UTF-8 text.") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = where if mark is None else f"{where}, line {mark.line + 1}"
        raise InputError("bad-yaml", f"{place}: {_told(error)}.") from None


def _told(error: Exception) -> str:
    if isinstance(error, _Repeated):
        return "a key is given twice"
    quote = "; quote what begins with '*', '&' or '%'" if isinstance(error, ScannerError) else ""
    return f"this is not valid YAML{quote}"


class _Repeated(yaml.constructor.ConstructorError):
    pass


class _Loader(yaml.SafeLoader):
    """Refuses a key that is given twice: a reader may see the one, and the other would hold."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping whose keys differ."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        if len(keys) > len({str(key) for key in keys}):
            raise _Repeated(None, None, "a key is given twice", node.start_mark)
        return super().construct_mapping(node, deep)
