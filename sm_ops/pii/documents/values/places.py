"""Addresses of places that exist nowhere, with postcodes above the last one in use."""

from __future__ import annotations

import re

from sm_ops.pii.documents.draws import Draws
from sm_ops.pii.documents.korean import syllables
from sm_ops.pii.documents.vocabularies import Vocabularies
from sm_ops.pii.documents.vocabularies.places import CITIES, PROVINCES, TOWNSHIPS

_KINDS = {
    "특별시": "si",
    "광역시": "si",
    "시": "si",
    "도": "do",
    "군": "gun",
    "구": "gu",
    "대로": "daero",
    "로": "ro",
    "길": "gil",
    "동": "dong",
    "리": "ri",
}


def korean_address(partition: str, form: str | None, names: Vocabularies, draws: Draws, slot: str) -> str:
    """An address by road, or with form "lot" by lot."""
    district = draws.pick(f"{slot}.district", names.of("district", partition))
    rural = district.endswith("군")
    area = f"{draws.pick(f'{slot}.city', PROVINCES if rural else CITIES)} {district}"
    if rural:
        area += f" {draws.pick(f'{slot}.township', TOWNSHIPS)}"
    kind = "리" if rural else "동"
    neighbourhood = draws.pick(
        f"{slot}.dong", [name for name in names.of("neighbourhood", partition) if name.endswith(kind)]
    )
    if form == "lot" or (form is None and draws.percent(f"{slot}.lot", 15)):
        lot = f"{1 + draws.below(f'{slot}.lot1', 899)}" + (
            f"-{1 + draws.below(f'{slot}.lot2', 40)}" if draws.percent(f"{slot}.lot3", 60) else ""
        )
        return f"{area} {neighbourhood} {lot}" + draws.pick(f"{slot}.end", ("", "", "번지"))
    road, building = (
        draws.pick(f"{slot}.road", names.of("road", partition)),
        draws.pick(f"{slot}.building", names.of("building", partition)),
    )
    number = f"{1 + draws.below(f'{slot}.number', 320)}" + (
        f"-{1 + draws.below(f'{slot}.number2', 30)}" if draws.percent(f"{slot}.branch", 25) else ""
    )
    if road.endswith("로") and draws.percent(f"{slot}.alley", 20):
        number = f"{2 + draws.below(f'{slot}.alley2', 90)}번길 {number}"
        road = f"{road}{number}"
    else:
        road = f"{road} {number}"
    flat = _flat(draws, slot)
    beside = f", {flat}", f" {building} {flat}", ""
    tails = (
        beside
        if rural
        else (
            *beside,
            f", {flat} ({neighbourhood}, {building})",
            f", {flat} ({neighbourhood})",
            f" ({neighbourhood})",
            "",
        )
    )
    text = f"{area} {road}" + draws.pick(f"{slot}.tail", tails)
    postcode = 64000 + draws.below(f"{slot}.postcode", 36000)
    return draws.pick(f"{slot}.post", ("",) * 6 + (f"({postcode}) ", f"{postcode} ")) + text


def english_address(partition: str, names: Vocabularies, draws: Draws, slot: str) -> str:
    """The same kind of address in Latin letters, small parts first."""
    district, road = (
        draws.pick(f"{slot}.district", names.of("district", partition)),
        draws.pick(f"{slot}.road", names.of("road", partition)),
    )
    city = draws.pick(f"{slot}.city", PROVINCES if district.endswith("군") else CITIES).split()[-1]
    unit = draws.pick(
        f"{slot}.unit",
        ("", "", f"Apt. {101 + draws.below(f'{slot}.flat', 1900)}, ", f"#{101 + draws.below(f'{slot}.flat', 1900)}, "),
    )
    postcode = 64000 + draws.below(f"{slot}.postcode", 36000)
    return (
        f"{unit}{1 + draws.below(f'{slot}.number', 320)} {_latin(road)}, {_latin(district)}, {_latin(city)} {postcode}"
    )


def _flat(draws: Draws, slot: str) -> str:
    floor, door = 1 + draws.below(f"{slot}.floor", 24), 1 + draws.below(f"{slot}.door", 6)
    block = draws.pick(f"{slot}.block", ("", "", f"{101 + draws.below(f'{slot}.block2', 20)}동 "))
    return f"{block}{floor}{door:02d}호"


def _latin(name: str) -> str:
    """동견본구 -> Donggyeonbon-gu."""
    stem, kind = next((name.removesuffix(kind), latin) for kind, latin in _KINDS.items() if name.endswith(kind))
    return "".join(syllables(re.sub("[^가-힣]", "", stem))).capitalize() + f"-{kind}"
