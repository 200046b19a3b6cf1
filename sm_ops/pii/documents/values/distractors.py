"""What looks like PII and is none: numbers of organisations, goods and documents, masked values, dates, amounts."""

from __future__ import annotations

from collections.abc import Callable

from sm_ops.pii.documents.draws import Draws
from sm_ops.pii.documents.listed import listed
from sm_ops.pii.documents.vocabularies.korean_names import COMMON_SURNAMES

_SERVICES = listed("1577 1588 1544 1566 1599 1600 1644 1661 1670 1688 1800 1855 1899")
_BUSINESS_WEIGHTS = (1, 3, 7, 1, 3, 7, 1, 3, 5)
_CAPITALS = "ABCDEFGHJKLMNPQRSTUVWXYZ"


def _switchboard(draws: Draws, slot: str) -> str:
    return f"{draws.pick(slot, _SERVICES)}-{draws.below(f'{slot}.line', 10_000):04d}"


def _business(draws: Draws, slot: str) -> str:
    """A business number's shape with a failing check digit."""
    body = "".join(str(1 + draws.below(f"{slot}.{at}", 9)) for at in range(9))
    total = (
        sum(weight * int(digit) for weight, digit in zip(_BUSINESS_WEIGHTS, body, strict=True)) + int(body[8]) * 5 // 10
    )
    last = (10 - total % 10 + 1 + draws.below(f"{slot}.last", 9)) % 10
    return f"{body[:3]}-{body[3:5]}-{body[5:]}{last}"


def _order(draws: Draws, slot: str) -> str:
    return f"{draws.pick(f'{slot}.year', ('2025', '2026'))}{_month_day(draws, slot)}-{draws.digits(slot, 5)}"


def _parcel(draws: Draws, slot: str) -> str:
    head = 5 + draws.below(f"{slot}.head", 3)
    return f"{head}{draws.digits(f'{slot}.a', 3)}-{draws.digits(f'{slot}.b', 4)}-{draws.digits(f'{slot}.c', 4)}"


def _policy(draws: Draws, slot: str) -> str:
    return f"제{draws.pick(f'{slot}.year', ('2024', '2025', '2026'))}-{draws.digits(slot, 6)}호"


def _policy_en(draws: Draws, slot: str) -> str:
    return f"{_letters(draws, slot, 2)}-{draws.digits(slot, 7)}"


def _serial(draws: Draws, slot: str) -> str:
    return f"{_letters(draws, slot, 3)}{draws.digits(f'{slot}.a', 2)}-{draws.digits(f'{slot}.b', 6)}"


def _letters(draws: Draws, slot: str, count: int) -> str:
    return "".join(draws.pick(f"{slot}.{at}", _CAPITALS) for at in range(count))


def _amount(draws: Draws, slot: str) -> str:
    return f"{(50 + draws.below(slot, 850)) * 1_000:,}원"


def _small(draws: Draws, slot: str) -> str:
    return f"{(5 + draws.below(slot, 26)) * 100:,}원"


def _fee(draws: Draws, slot: str) -> str:
    return f"{(4 + draws.below(slot, 60)) * 500:,}원"


def _sum(draws: Draws, slot: str) -> str:
    return f"{(10 + draws.below(slot, 290)) * 1_000_000:,}원"


def _amount_en(draws: Draws, slot: str) -> str:
    return f"${20 + draws.below(slot, 4_800):,}.{draws.digits(f'{slot}.cents', 2)}"


def _month_day(draws: Draws, slot: str) -> str:
    return f"{1 + draws.below(f'{slot}.month', 12):02d}{1 + draws.below(f'{slot}.day', 28):02d}"


def _date(draws: Draws, slot: str) -> str:
    year, month, day = (
        draws.pick(f"{slot}.year", ("2025", "2026")),
        1 + draws.below(f"{slot}.month", 12),
        1 + draws.below(f"{slot}.day", 28),
    )
    return draws.pick(
        f"{slot}.form",
        (
            f"{year}년 {month}월 {day}일",
            f"{year}. {month}. {day}.",
            f"{year}-{month:02d}-{day:02d}",
            f"{year}.{month:02d}.{day:02d}",
        ),
    )


def _day(draws: Draws, slot: str) -> str:
    return f"{1 + draws.below(f'{slot}.month', 12)}월 {1 + draws.below(f'{slot}.day', 28)}일"


def _date_en(draws: Draws, slot: str) -> str:
    month = draws.pick(
        f"{slot}.month",
        listed(
            """
    January February March April May June July August September October November December
    """
        ),
    )
    day, year = 1 + draws.below(f"{slot}.day", 28), draws.pick(f"{slot}.year", ("2025", "2026"))
    return draws.pick(f"{slot}.form", (f"{month} {day}, {year}", f"{day} {month} {year}"))


def _time(draws: Draws, slot: str) -> str:
    return f"{9 + draws.below(f'{slot}.hour', 10):02d}:{draws.below(f'{slot}.minute', 60):02d}"


def _hour(draws: Draws, slot: str) -> str:
    return draws.pick(
        slot, ("오전 9시", "오전 10시 30분", "오전 11시", "오후 1시", "오후 2시 30분", "오후 4시", "오후 5시 20분")
    )


def _expiry(draws: Draws, slot: str) -> str:
    return f"{1 + draws.below(f'{slot}.month', 12):02d}/{27 + draws.below(f'{slot}.year', 5)}"


def _version(draws: Draws, slot: str) -> str:
    return f"v{1 + draws.below(f'{slot}.a', 9)}.{draws.below(f'{slot}.b', 20)}.{draws.below(f'{slot}.c', 10)}"


def _masked_name(draws: Draws, slot: str) -> str:
    surname = draws.pick(slot, list(COMMON_SURNAMES))
    last = draws.pick(f"{slot}.last", "동수영진호희민")
    return draws.pick(f"{slot}.form", (f"{surname}*{last}", f"{surname}OO", f"{surname}○○", f"{surname}**"))


def _anonymous(draws: Draws, slot: str) -> str:
    return f"{draws.pick(slot, list(COMMON_SURNAMES))} 모 씨"


def _masked_phone(draws: Draws, slot: str) -> str:
    return f"010-****-{draws.digits(slot, 4)}"


def _masked_rrn(draws: Draws, slot: str) -> str:
    """A head that is no day of any month."""
    year, day = 60 + draws.below(f"{slot}.year", 40), 32 + draws.below(f"{slot}.day", 60)
    return f"{year}13{day}-{draws.pick(f'{slot}.s', '34')}******"


def _masked_card(draws: Draws, slot: str) -> str:
    return f"****-****-****-{draws.digits(slot, 4)}"


def _surname(draws: Draws, slot: str) -> str:
    return draws.pick(slot, list(COMMON_SURNAMES))


def _count(draws: Draws, slot: str) -> str:
    return str(2 + draws.below(slot, 28))


DISTRACTORS: dict[str, Callable[[Draws, str], str]] = {
    "switchboard": _switchboard,
    "business": _business,
    "order": _order,
    "parcel": _parcel,
    "policy": _policy,
    "policy_en": _policy_en,
    "serial": _serial,
    "amount": _amount,
    "small": _small,
    "fee": _fee,
    "sum": _sum,
    "amount_en": _amount_en,
    "date": _date,
    "day": _day,
    "date_en": _date_en,
    "time": _time,
    "hour": _hour,
    "expiry": _expiry,
    "version": _version,
    "masked_name": _masked_name,
    "anonymous": _anonymous,
    "masked_phone": _masked_phone,
    "masked_rrn": _masked_rrn,
    "masked_card": _masked_card,
    "surname": _surname,
    "count": _count,
}
