"""What only people know of a released dataset: `about:` in a run's config, or a YAML file of its own."""

from __future__ import annotations

import re
from typing import Annotated

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from pydantic import AfterValidator, Field

from sm_ops.core.config.base import Section

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Neither text nor layout; among them what turns the direction of writing, by which a page can show another order."""


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("it is empty; leave it out where there is nothing to say")
    if _CONTROL.search(value):
        raise ValueError("it holds a control character; write plain text")
    return value.strip()


def _line(value: str) -> str:
    if re.search(r"[\n\t]", value.strip()):
        raise ValueError("it is one line, without line breaks and tabs")
    return _text(value)


def _language(value: str) -> str:
    if not re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*|code", value):
        raise ValueError("a language is told by its ISO 639 code, such as en or ko, and a programming language by code")
    return value


def _licence(value: str) -> str:
    try:
        return str(canonicalize_license_expression(value))
    except InvalidLicenseExpression:
        raise ValueError(
            "it is no SPDX expression, such as CC-BY-4.0, 'MIT AND Apache-2.0', or LicenseRef-Own for one of your own"
        ) from None


def _url(value: str) -> str:
    if not re.fullmatch(r"https?://[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+", value):
        raise ValueError("an address begins with https:// or http:// and holds no blanks")
    return value


Text = Annotated[str, Field(max_length=5000), AfterValidator(_text)]
Line = Annotated[str, Field(max_length=200), AfterValidator(_line)]
Language = Annotated[str, AfterValidator(_language)]
Licence = Annotated[str, Field(max_length=500), AfterValidator(_licence)]
Url = Annotated[str, Field(max_length=500), AfterValidator(_url)]


class Source(Section):
    """Where records come from; a release's check asks for the licence of each."""

    name: Line
    url: Url | None = None
    licence: Licence | None = Field(default=None, description="SPDX expression")


class About(Section):
    """What a release says of itself beyond what can be measured. People are told by their role, never by name.

    Title and description are required; what else is absent is told as not stated, and a policy may ask for it.
    """

    title: Line
    description: Text
    licence: Licence | None = Field(default=None, description="SPDX expression of what is released")
    sources: tuple[Source, ...] = ()
    languages: tuple[Language, ...] = Field(default=(), description="ISO 639 codes; code for programs")
    tags: tuple[Line, ...] = ()
    intended_use: tuple[Text, ...] = Field(default=(), description="what the data is for")
    not_for: tuple[Text, ...] = Field(default=(), description="uses that it does not serve")
    limits: tuple[Text, ...] = Field(default=(), description="known gaps and errors")
    biases: tuple[Text, ...] = Field(default=(), description="who or what is over- or under-represented")
    personal: tuple[Text, ...] = Field(default=(), description="private information that the sources held, by kind")
    collection: Text | None = Field(default=None, description="how the records came together")
    annotation: Text | None = Field(default=None, description="how private values were labelled")
    annotators: tuple[Line, ...] = Field(default=(), description="roles, without names")
    creator: Line | None = Field(default=None, description="the organisation")
    maintainers: tuple[Line, ...] = Field(default=(), description="roles, without names")
    maintenance: Text | None = Field(default=None, description="how errors are corrected, and for how long")
    contact: Line | None = Field(default=None, description="address of a team")
    url: Url | None = Field(default=None, description="where the dataset is described")
    citation: Text | None = Field(default=None, description="how to cite it, best as BibTeX")
