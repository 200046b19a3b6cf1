"""Regimes: parts of CredData between which a threshold is transferred (paper, tables 11 and 12).

Two regimes divide credentials by category, three contexts by the extension of their file. A regime's inside is for
validation and in-distribution evaluation, its outside for evaluation out of distribution. The paper names the parts in
words; the lists are ours (choice C-6). CredData joins the names of all rules that fit a credential by colons
(`Auth:Token`); such a category is inside when all its parts are, outside when all are outside, and else in neither.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sm_ops.core.records import Record

FAMILIES = {
    "passwords": ("Password", "CMD Password", "SQL Password", "CMD ConvertTo-SecureString"),
    "url_credentials": ("URL Credentials",),
    "authorization": ("Auth", "Basic Authorization", "Bearer Authorization"),
    "generic_secrets": ("Secret", "Credential", "CMD Secret", "OTP / 2FA Secret"),
    "tokens": ("Token", "CMD Token", "JSON Web Token"),
    "api_keys": ("API", "Key"),
    "none": ("PEM Private Key", "JWK", "UUID", "Nonce", "Salt", "IPv4", "IPv6", "Other"),
}
"""CredData's names by kind. Every other name is of a service (`AWS Client ID`), and the kind is `service`."""
SERVICE = "service"

EXTENSIONS = {
    "text_config": (
        "", ".adoc", ".cast", ".cfg", ".cnf", ".conf", ".config", ".csv", ".env", ".example", ".ini", ".ipynb",
        ".json", ".jsonnet", ".key", ".libsonnet", ".lock", ".log", ".md", ".nix", ".p8", ".pem", ".plist",
        ".properties", ".rst", ".sample", ".template", ".tf", ".tfvars", ".tmpl", ".toml", ".txt", ".xml", ".yaml",
        ".yml",
    ),
    "frontend": (
        ".cjs", ".coffee", ".css", ".dart", ".haml", ".htm", ".html", ".js", ".jsx", ".less", ".mjs", ".scss",
        ".svelte", ".ts", ".tsx", ".vue",
    ),
    "backend": (
        ".bash", ".bat", ".c", ".cc", ".clj", ".cpp", ".cs", ".erl", ".ex", ".exs", ".go", ".gradle", ".groovy", ".h",
        ".hpp", ".hs", ".java", ".jl", ".kt", ".lua", ".m", ".php", ".pl", ".pm", ".ps1", ".pxd", ".py", ".pyx", ".r",
        ".rake", ".rb", ".rs", ".scala", ".sh", ".sql", ".swift",
    ),
}  # fmt: skip
"""Extensions of files, compared without case, by what they are written for."""


@dataclass(frozen=True, slots=True)
class Regime:
    """A part of a corpus, and the part that a threshold is carried over to: kinds of credentials, or of files.

    `inside` and `outside` name keys of `FAMILIES` (or `service`) where `by` is `category`, and of `EXTENSIONS` where it
    is `ext`.
    """

    name: str
    by: Literal["category", "ext"]
    inside: tuple[str, ...]
    outside: tuple[str, ...]

    def view(self, record: Record, outside: bool = False) -> Record | None:
        """A record as one part of the regime sees it; None where its file belongs to another part.

        Targets of other categories are left out of all counts, as in table 11; look-alikes and other text stay.
        """
        part = self.outside if outside else self.inside
        if self.by == "ext":
            return record if extension_kind(str(record.meta.get("ext", ""))) in part else None
        own = tuple(span for span in record.spans if kinds(span.label) <= set(part))
        others = [[a, b] for a, b, label in record.content_spans if not kinds(label) <= set(part)]
        left_out = [*record.meta.get("left_out", []), *others]
        return replace(record, spans=own, meta=record.meta | ({"left_out": left_out} if left_out else {}))


REGIMES = {
    regime.name: regime
    for regime in (
        Regime(
            "credential_1",
            "category",
            ("passwords", "url_credentials", "authorization", "generic_secrets"),
            ("tokens", "api_keys", SERVICE),
        ),
        Regime(
            "credential_2",
            "category",
            ("tokens", "authorization", "generic_secrets"),
            ("passwords", "url_credentials", "api_keys"),
        ),
        Regime("text_config", "ext", ("text_config",), ("frontend", "backend")),
        Regime("frontend", "ext", ("frontend",), ("text_config", "backend")),
        Regime("backend", "ext", ("backend",), ("text_config", "frontend")),
    )
}
"""The paper's five regimes by name."""

_KIND_OF = {name: kind for kind, names in FAMILIES.items() for name in names}
_EXTENSION_OF = {ext: kind for kind, extensions in EXTENSIONS.items() for ext in extensions}


def kinds(category: str) -> set[str]:
    """The kinds of credential that a category of CredData names."""
    return {_KIND_OF.get(part.strip(), SERVICE) for part in category.split(":")}


def extension_kind(ext: str) -> str | None:
    """What a file with this extension is written for; None for one that no list has."""
    return _EXTENSION_OF.get(ext.casefold())
