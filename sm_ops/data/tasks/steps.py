"""Steps between reading and answering: rows are left out, changed or put in order."""

from __future__ import annotations

from collections.abc import Callable

from sm_ops.data.tasks.parts import Apply, Part, Setting, Slip
from sm_ops.data.tasks.tables import Row

Test = Callable[[Row], bool]


def _kept(setting: Setting, condition: str, test: Test, says: tuple[str, str], slips: dict[str, Test]) -> Part:
    """Only rows for which the condition holds, written in one of three ways."""
    ways = (
        "«rows» = [«row» for «row» in «rows» if {}]",
        "«rows» = list(filter(lambda «row»: {}, «rows»))",
        "kept = []\nfor «row» in «rows»:\n    if {}:\n        kept.append(«row»)\n«rows» = kept",
        "for «row» in list(«rows»):\n    if not ({}):\n        «rows».remove(«row»)",
    )
    way = setting.random.choice(ways)

    def applying(test: Test) -> Apply:
        return lambda rows: [row for row in rows if test(row)]

    wrong = tuple(Slip(way.replace("{}", code), applying(other)) for code, other in slips.items())
    return Part(way.replace("{}", condition), says, applying(test), wrong)


def equal(setting: Setting) -> Part:
    """Rows of one category."""
    column = setting.category()
    value = setting.value(column)
    place = f'«row»["{column}"]'
    says = (
        f"Only rows whose {column} is `{value}` count.",
        f"Please ignore everything with a {column} other than `{value}`.",
    )
    return _kept(
        setting,
        f'{place} == "{value}"',
        lambda r: r[column] == value,
        says,
        {f'{place} != "{value}"': lambda r: r[column] != value},
    )


def unequal(setting: Setting) -> Part:
    """Rows of every category but one."""
    column = setting.category()
    value = setting.value(column)
    place = f'«row»["{column}"]'
    says = (f"Leave out rows whose {column} is `{value}`.", f"A {column} of `{value}` doesn't count.")
    return _kept(
        setting,
        f'{place} != "{value}"',
        lambda r: r[column] != value,
        says,
        {f'{place} == "{value}"': lambda r: r[column] == value},
    )


def one_of(setting: Setting) -> Part:
    """Rows of two categories."""
    column = setting.category()
    first, second = setting.random.sample(setting.table.categories[column], 2)
    place = f'«row»["{column}"]'
    says = (
        f"Only rows whose {column} is `{first}` or `{second}` count.",
        f"What matters is {column} `{first}` and {column} `{second}`; skip the others.",
    )
    return _kept(
        setting,
        f'{place} in ("{first}", "{second}")',
        lambda r: r[column] in (first, second),
        says,
        {
            f'{place} not in ("{first}", "{second}")': lambda r: r[column] not in (first, second),
            f'{place} in ("{first}",)': lambda r: r[column] == first,
        },
    )


def at_least(setting: Setting) -> Part:
    """Rows whose number reaches a limit that one of them has."""
    column = setting.number()
    limit = setting.value(column)
    place = f'«row»["{column}"]'
    says = (
        f"Only rows with {column} of at least {limit} count.",
        f"Rows with {column} below {limit} are to be skipped.",
    )
    return _kept(
        setting,
        f"{place} >= {limit}",
        lambda r: r[column] >= limit,
        says,
        {f"{place} > {limit}": lambda r: r[column] > limit, f"{place} <= {limit}": lambda r: r[column] <= limit},
    )


def between(setting: Setting) -> Part:
    """Rows whose number lies in an interval with both ends."""
    column = setting.number()
    low, high = sorted((setting.value(column), setting.value(column)))
    place = f'«row»["{column}"]'
    says = (
        f"Only rows with {column} from {low} to {high}, both included, count.",
        f"Keep a row when its {column} is no less than {low} and no more than {high}.",
    )
    return _kept(
        setting,
        f"{low} <= {place} <= {high}",
        lambda r: low <= r[column] <= high,
        says,
        {f"{low} < {place} < {high}": lambda r: low < r[column] < high},
    )


def since(setting: Setting) -> Part:
    """Rows from a day on."""
    column = setting.table.day
    day = setting.value(column)
    place = f'«row»["{column}"]'
    says = (
        f"Only rows with `{column}` on {day} or later count (days are texts such as {day}).",
        f"Anything whose `{column}` day is before {day} is out (days are written year-month-day).",
    )
    return _kept(
        setting,
        f'{place} >= "{day}"',
        lambda r: r[column] >= day,
        says,
        {f'{place} > "{day}"': lambda r: r[column] > day, f'{place} < "{day}"': lambda r: r[column] < day},
    )


def in_half(setting: Setting) -> Part:
    """Rows of the first or the second half of the year."""
    column = setting.table.day
    late = setting.random.random() < 0.5
    place, sign = f'int(«row»["{column}"][5:7])', ">" if late else "<="
    half = "second" if late else "first"

    def month(row: Row) -> int:
        return int(row[column][5:7])

    says = (
        f"Only rows whose `{column}` is in the {half} half of a year count (days are texts such as 2024-03-31).",
        f"Take the {half} half of the year alone, by the month in `{column}` (written year-month-day).",
    )
    return _kept(
        setting,
        f"{place} {sign} 6",
        lambda r: (month(r) > 6) == late,
        says,
        {f"{place} {'<=' if late else '>'} 6": lambda r: (month(r) > 6) != late},
    )


def product(setting: Setting) -> Part:
    """One number becomes the product of both."""
    first, second = setting.table.numbers
    code = setting.random.choice(
        (
            '«rows» = [{**«row», "§2": «row»["§1"] * «row»["§2"]} for «row» in «rows»]',
            'for «row» in «rows»:\n    «row»["§2"] = «row»["§1"] * «row»["§2"]',
            'for «row» in «rows»:\n    «row»["§2"] *= «row»["§1"]',
            "for index, «row» in enumerate(«rows»):\n"
            '    «rows»[index] = dict(«row», **{"§2": «row»["§1"] * «row»["§2"]})',
        )
    )
    code = code.replace("§1", first).replace("§2", second)
    says = (
        f"Multiply each row's {second} by its {first} before going on.",
        f"In all that follows, {second} means {second} times {first}.",
    )
    return Part(
        code,
        says,
        lambda rows: [{**row, second: row[first] * row[second]} for row in rows],
        (
            Slip(
                code.replace(" *= ", " += ").replace(" * ", " + "),
                lambda rows: [{**row, second: row[first] + row[second]} for row in rows],
            ),
        ),
    )


def shifted(setting: Setting) -> Part:
    """A fixed amount is taken off a number, never below nothing."""
    column = setting.number()
    amount = setting.random.randint(1, 5)
    code = setting.random.choice(
        (
            'for «row» in «rows»:\n    «row»["§"] = max(«row»["§"] - $, 0)',
            '«rows» = [«row» | {"§": max(0, «row»["§"] - $)} for «row» in «rows»]',
            'for «row» in «rows»:\n    «row»["§"] -= $\n    if «row»["§"] < 0:\n        «row»["§"] = 0',
        )
    )
    code = code.replace("§", column).replace("$", str(amount))
    says = (
        f"Take {amount} off each row's {column} first, but never go below 0.",
        f"The first {amount} of {column} are free in every row, so subtract them (nothing gets negative).",
    )
    return Part(
        code,
        says,
        lambda rows: [{**row, column: max(row[column] - amount, 0)} for row in rows],
        (
            Slip(
                code.replace(" - ", " + ").replace(" -= ", " += "),
                lambda rows: [{**row, column: row[column] + amount} for row in rows],
            ),
        ),
    )


def upper(setting: Setting) -> Part:
    """A category is written in capitals."""
    column = setting.category()
    code = setting.random.choice(
        (
            'for «row» in «rows»:\n    «row»["§"] = «row»["§"].upper()',
            '«rows» = [{**«row», "§": «row»["§"].upper()} for «row» in «rows»]',
            'for «row» in «rows»:\n    «row».update({"§": «row»["§"].upper()})',
        )
    ).replace("§", column)
    says = (f"Write every {column} in capitals.", f"Turn each {column} into upper case before you use it.")
    return Part(
        code,
        says,
        lambda rows: [{**row, column: row[column].upper()} for row in rows],
        (
            Slip(
                code.replace(".upper()", ".title()"),
                lambda rows: [{**row, column: row[column].title()} for row in rows],
            ),
        ),
    )


def newest(setting: Setting) -> Part:
    """The rows of the latest days, in order."""
    column, label, count = setting.table.day, setting.table.label, setting.random.randint(5, 7)
    code = setting.random.choice(
        (
            '«rows» = sorted(«rows», key=lambda «row»: («row»["§"], «row»["¶"]))[-$:]',
            '«rows».sort(key=lambda «row»: («row»["§"], «row»["¶"]))\n«rows» = «rows»[-$:]',
            '«rows» = sorted(«rows», key=lambda «row»: («row»["§"], «row»["¶"]))\n'
            "while len(«rows») > $:\n    «rows».pop(0)",
        )
    )
    code = code.replace("§", column).replace("¶", label).replace("$", str(count))
    says = (
        f"Sort by `{column}`, then {label}, and go on with the last {count} rows only.",
        f"Only the {count} latest rows by `{column}` matter (by {label} within a day), oldest of them first.",
    )

    def latest(rows: list[Row]) -> list[Row]:
        return sorted(rows, key=lambda r: (r[column], r[label]))[-count:]

    def earliest(rows: list[Row]) -> list[Row]:
        return sorted(rows, key=lambda r: (r[column], r[label]))[:count]

    first = f'«rows» = sorted(«rows», key=lambda «row»: («row»["{column}"], «row»["{label}"]))[:{count}]'
    return Part(code, says, latest, (Slip(first, earliest),))


def unique(setting: Setting) -> Part:
    """The first row of each category and half."""
    column, other = setting.table.categories
    code = setting.random.choice(
        (
            'seen = set()\nfirst = []\nfor «row» in «rows»:\n    key = («row»["§"], «row»["¶"])\n'
            "    if key not in seen:\n        seen.add(key)\n        first.append(«row»)\n«rows» = first",
            'first = {}\nfor «row» in «rows»:\n    first.setdefault((«row»["§"], «row»["¶"]), «row»)\n'
            "«rows» = list(first.values())",
        )
    )
    code = code.replace("§", column).replace("¶", other)
    says = (
        f"Of rows that agree in {column} and {other} keep the first.",
        f"Each pair of {column} and {other} may occur once: later rows with the same pair are dropped.",
    )

    def once(rows: list[Row], *columns: str) -> list[Row]:
        found: dict[tuple, Row] = {}
        for row in rows:
            found.setdefault(tuple(row[name] for name in columns), row)
        return list(found.values())

    wrong = code.replace(f'(«row»["{column}"], «row»["{other}"])', f'«row»["{column}"]')
    return Part(code, says, lambda rows: once(rows, column, other), (Slip(wrong, lambda rows: once(rows, column)),))


FILTERS: tuple[Callable[[Setting], Part], ...] = (equal, unequal, one_of, at_least, between, since, in_half)
CHANGES: tuple[Callable[[Setting], Part], ...] = (product, shifted, upper, newest, unique)
