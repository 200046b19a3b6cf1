"""What a task answers with, by family. Each result ends a function: its code returns, and its `names` say what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from sm_ops.data.tasks.parts import Part, Setting, Slip
from sm_ops.data.tasks.tables import Row

Result = Callable[[Setting], Part]


def _grouped(rows: list[Row], key: str, value: str) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row[value])
    return groups


def _mean(values: list[Any]) -> float:
    return round(sum(values) / len(values), 2) if values else 0


# ---- totals --------------------------------------------------------------------------------------------


def total(setting: Setting) -> Part:
    """The sum of a number."""
    number = setting.number()
    code = setting.random.choice(
        (
            'return sum(«row»["§"] for «row» in «rows»)',
            '«found» = 0\nfor «row» in «rows»:\n    «found» += «row»["§"]\nreturn «found»',
            'values = [«row»["§"] for «row» in «rows»]\nreturn sum(values)',
        )
    ).replace("§", number)
    says = (f"Return the sum of {number}.", f"I need the {number} of all of them added up.")
    slip = f'return max((«row»["{number}"] for «row» in «rows»), default=0)'
    wrong = Slip(slip, lambda rows: max((row[number] for row in rows), default=0))
    return Part(code, says, lambda rows: sum(row[number] for row in rows), (wrong,), names=f"total_{number}")


def mean(setting: Setting) -> Part:
    """The mean of a number, to two places."""
    number = setting.number()
    code = setting.random.choice(
        (
            'values = [«row»["§"] for «row» in «rows»]\nreturn round(sum(values) / len(values), 2) if values else 0',
            "if not «rows»:\n    return 0\n"
            '«found» = sum(«row»["§"] for «row» in «rows»)\nreturn round(«found» / len(«rows»), 2)',
            '«found» = 0\nfor «row» in «rows»:\n    «found» += «row»["§"]\n'
            "return round(«found» / len(«rows»), 2) if «rows» else 0",
        )
    ).replace("§", number)
    says = (
        f"Return the mean {number}, rounded to 2 places (0 without rows).",
        f"Give me the average {number} to two decimals, and 0 where there is nothing.",
    )
    wrong = Slip(
        code.replace("2)", "0)"), lambda rows: round(sum(r[number] for r in rows) / len(rows), 0) if rows else 0
    )
    return Part(code, says, lambda rows: _mean([row[number] for row in rows]), (wrong,), names=f"mean_{number}")


def spread(setting: Setting) -> Part:
    """The difference of the largest and the smallest number."""
    number = setting.number()
    code = setting.random.choice(
        (
            'values = [«row»["§"] for «row» in «rows»]\nreturn max(values) - min(values) if values else 0',
            'values = sorted(«row»["§"] for «row» in «rows»)\nif not values:\n    return 0\n'
            "return values[-1] - values[0]",
            "low = high = None\nfor «row» in «rows»:\n"
            '    low = «row»["§"] if low is None else min(low, «row»["§"])\n'
            '    high = «row»["§"] if high is None else max(high, «row»["§"])\nreturn 0 if low is None else high - low',
        )
    ).replace("§", number)
    says = (
        f"Return the largest {number} minus the smallest (0 without rows).",
        f"How far apart are the highest and the lowest {number}? Return the difference, or 0 where there is nothing.",
    )
    slip = f'return max((«row»["{number}"] for «row» in «rows»), default=0)'
    wrong = Slip(slip, lambda rows: max((row[number] for row in rows), default=0))

    def answer(rows: list[Row]) -> Any:
        values: list[Any] = [row[number] for row in rows]
        return max(values) - min(values) if values else 0

    return Part(code, says, answer, (wrong,), names=f"{number}_spread")


# ---- groups --------------------------------------------------------------------------------------------


def count_by(setting: Setting) -> Part:
    """How many rows each category has."""
    key = setting.category()
    code = setting.random.choice(
        (
            '«found» = {}\nfor «row» in «rows»:\n    «found»[«row»["§"]] = «found».get(«row»["§"], 0) + 1\n'
            "return «found»",
            '«found» = Counter()\nfor «row» in «rows»:\n    «found»[«row»["§"]] += 1\nreturn dict(«found»)',
            'names = [«row»["§"] for «row» in «rows»]\nreturn {name: names.count(name) for name in names}',
            '«found» = {}\nfor «row» in «rows»:\n    if «row»["§"] in «found»:\n        «found»[«row»["§"]] += 1\n'
            '    else:\n        «found»[«row»["§"]] = 1\nreturn «found»',
        )
    ).replace("§", key)
    imports = ("from collections import Counter",) if "Counter" in code else ()
    says = (
        f"Return a dictionary from each {key} to its number of rows.",
        f"Count the rows per {key}, as a dictionary.",
    )
    wrong = Slip(f'return {{«row»["{key}"]: 1 for «row» in «rows»}}', lambda rows: {row[key]: 1 for row in rows})
    return Part(code, says, lambda rows: dict(Counter(row[key] for row in rows)), (wrong,), imports, f"count_by_{key}")


def sum_by(setting: Setting) -> Part:
    """The sum of a number for each category."""
    key, number = setting.category(), setting.number()
    code = setting.random.choice(
        (
            '«found» = {}\nfor «row» in «rows»:\n    «found»[«row»["§"]] = «found».get(«row»["§"], 0) + «row»["¶"]\n'
            "return «found»",
            '«found» = defaultdict(int)\nfor «row» in «rows»:\n    «found»[«row»["§"]] += «row»["¶"]\n'
            "return dict(«found»)",
            'names = {«row»["§"] for «row» in «rows»}\n'
            'return {name: sum(«row»["¶"] for «row» in «rows» if «row»["§"] == name) for name in names}',
            '«found» = {}\nfor «row» in «rows»:\n    «found».setdefault(«row»["§"], 0)\n'
            '    «found»[«row»["§"]] += «row»["¶"]\n'
            "return «found»",
        )
    )
    code = code.replace("§", key).replace("¶", number)
    imports = ("from collections import defaultdict",) if "defaultdict" in code else ()
    says = (
        f"Return a dictionary from each {key} to the sum of its {number}.",
        f"Add up the {number} per {key} and return that as a dictionary.",
    )
    slip = f'return {{«row»["{key}"]: «row»["{number}"] for «row» in «rows»}}'
    wrong = Slip(slip, lambda rows: {row[key]: row[number] for row in rows})
    return Part(
        code,
        says,
        lambda rows: {k: sum(v) for k, v in _grouped(rows, key, number).items()},
        (wrong,),
        imports,
        f"{number}_by_{key}",
    )


def mean_by(setting: Setting) -> Part:
    """The mean of a number for each category."""
    key, number = setting.category(), setting.number()
    code = setting.random.choice(
        (
            'groups = {}\nfor «row» in «rows»:\n    groups.setdefault(«row»["§"], []).append(«row»["¶"])\n'
            "return {name: round(sum(values) / len(values), 2) for name, values in groups.items()}",
            'sums, counts = {}, {}\nfor «row» in «rows»:\n    name = «row»["§"]\n'
            '    sums[name] = sums.get(name, 0) + «row»["¶"]\n    counts[name] = counts.get(name, 0) + 1\n'
            "return {name: round(sums[name] / counts[name], 2) for name in sums}",
            '«found» = {}\nfor name in sorted({«row»["§"] for «row» in «rows»}):\n'
            '    values = [«row»["¶"] for «row» in «rows» if «row»["§"] == name]\n'
            "    «found»[name] = round(sum(values) / len(values), 2)\nreturn «found»",
        )
    )
    code = code.replace("§", key).replace("¶", number)
    says = (
        f"Return a dictionary from each {key} to its mean {number}, rounded to 2 places.",
        f"For every {key} I need the average {number} with two decimals (a dictionary).",
    )
    slip = (
        f'groups = {{}}\nfor «row» in «rows»:\n    groups.setdefault(«row»["{key}"], []).append(«row»["{number}"])\n'
        "return {name: round(sum(values), 2) for name, values in groups.items()}"
    )
    wrong = Slip(slip, lambda rows: {k: round(sum(v), 2) for k, v in _grouped(rows, key, number).items()})
    return Part(
        code,
        says,
        lambda rows: {k: _mean(v) for k, v in _grouped(rows, key, number).items()},
        (wrong,),
        names=f"mean_{number}_by_{key}",
    )


def labels_by(setting: Setting) -> Part:
    """The labels of each category, sorted."""
    key, label = setting.category(), setting.table.label
    code = setting.random.choice(
        (
            '«found» = {}\nfor «row» in «rows»:\n    «found».setdefault(«row»["§"], []).append(«row»["¶"])\n'
            "return {name: sorted(labels) for name, labels in «found».items()}",
            '«found» = {«row»["§"]: [] for «row» in «rows»}\n'
            'for «row» in sorted(«rows», key=lambda «row»: «row»["¶"]):\n    «found»[«row»["§"]].append(«row»["¶"])\n'
            "return «found»",
            "«found» = defaultdict(list)\nfor «row» in «rows»:\n"
            '    «found»[«row»["§"]].append(«row»["¶"])\nfor labels in «found».values():\n    labels.sort()\n'
            "return dict(«found»)",
        )
    )
    code = code.replace("§", key).replace("¶", label)
    imports = ("from collections import defaultdict",) if "defaultdict" in code else ()
    says = (
        f"Return a dictionary from each {key} to the sorted list of its {label} values.",
        f"Which {label} values belong to which {key}? Return a dictionary of sorted lists.",
    )
    slip = f'return {{«row»["{key}"]: [«row»["{label}"]] for «row» in «rows»}}'
    wrong = Slip(slip, lambda rows: {row[key]: [row[label]] for row in rows})
    return Part(
        code,
        says,
        lambda rows: {k: sorted(v) for k, v in _grouped(rows, key, label).items()},
        (wrong,),
        imports,
        f"{label}s_by_{key}",
    )


# ---- ranking -------------------------------------------------------------------------------------------


def _top(rows: list[Row], number: str, label: str, count: int) -> list[str]:
    return [row[label] for row in sorted(rows, key=lambda r: (-r[number], r[label]))[:count]]


def largest(setting: Setting) -> Part:
    """The label with the largest number."""
    number, label = setting.number(), setting.table.label
    code = setting.random.choice(
        (
            'if not «rows»:\n    return None\nreturn min(«rows», key=lambda «row»: (-«row»["§"], «row»["¶"]))["¶"]',
            'order = sorted(«rows», key=lambda «row»: (-«row»["§"], «row»["¶"]))\n'
            'return order[0]["¶"] if order else None',
            "best = None\nfor «row» in «rows»:\n"
            '    if best is None or (-«row»["§"], «row»["¶"]) < (-best["§"], best["¶"]):\n        best = «row»\n'
            'return best and best["¶"]',
        )
    )
    code = code.replace("§", number).replace("¶", label)
    says = (
        f"Return the {label} of the row with the largest {number} (the first {label} in order on a tie; None "
        "without rows).",
        f"Tell me which {label} has the highest {number}; on a tie the smaller {label} wins, and None if "
        "nothing is left.",
    )
    wrong = Slip(
        code.replace("-«row»", "«row»").replace("-best", "best"),
        lambda rows: min(rows, key=lambda r: (r[number], r[label]))[label] if rows else None,
    )
    return Part(
        code, says, lambda rows: (_top(rows, number, label, 1) or [None])[0], (wrong,), names=f"largest_{number}"
    )


def top(setting: Setting) -> Part:
    """The labels with the largest numbers."""
    number, label, count = setting.number(), setting.table.label, setting.random.randint(2, 4)
    code = setting.random.choice(
        (
            '«rows».sort(key=lambda «row»: (-«row»["§"], «row»["¶"]))\nreturn [«row»["¶"] for «row» in «rows»[:$]]',
            'pairs = sorted((-«row»["§"], «row»["¶"]) for «row» in «rows»)\nreturn [name for _, name in pairs[:$]]',
            '«found» = []\nfor «row» in sorted(«rows», key=lambda «row»: (-«row»["§"], «row»["¶"])):\n'
            '    if len(«found») < $:\n        «found».append(«row»["¶"])\nreturn «found»',
        )
    )
    code = code.replace("§", number).replace("¶", label).replace("$", str(count))
    says = (
        f"Return the {label} values of the {count} rows with the largest {number}, largest first, ties by {label}.",
        f"List the top {count} by {number}: their {label} values from the highest down (equal ones by {label}).",
    )
    wrong = Slip(
        code.replace("-«row»", "«row»"),
        lambda rows: [r[label] for r in sorted(rows, key=lambda r: (r[number], r[label]))[:count]],
    )
    return Part(code, says, lambda rows: _top(rows, number, label, count), (wrong,), names=f"top_{count}_by_{number}")


def best_of_each(setting: Setting) -> Part:
    """The label with the largest number in each category."""
    key, number, label = setting.category(), setting.number(), setting.table.label
    code = setting.random.choice(
        (
            '«found» = {}\nfor «row» in sorted(«rows», key=lambda «row»: (-«row»["§"], «row»["¶"])):\n'
            '    «found».setdefault(«row»["@"], «row»["¶"])\nreturn «found»',
            'best = {}\nfor «row» in «rows»:\n    name, rank = «row»["@"], (-«row»["§"], «row»["¶"])\n'
            "    if name not in best or rank < best[name]:\n        best[name] = rank\n"
            "return {name: rank[1] for name, rank in best.items()}",
        )
    )
    code = code.replace("§", number).replace("¶", label).replace("@", key)
    says = (
        f"Return a dictionary from each {key} to the {label} with its largest {number} (ties by {label}).",
        f"Within every {key}, which {label} has the most {number}? A dictionary, please; the smaller {label} "
        "wins ties.",
    )

    def answer(rows: list[Row], sign: int) -> dict:
        found: dict = {}
        for row in sorted(rows, key=lambda r: (sign * r[number], r[label])):
            found.setdefault(row[key], row[label])
        return found

    wrong = Slip(code.replace("-«row»", "«row»"), lambda rows: answer(rows, 1))
    return Part(code, says, lambda rows: answer(rows, -1), (wrong,), names=f"best_{number}_by_{key}")


def above_mean(setting: Setting) -> Part:
    """Labels whose number is above the mean of all."""
    number, label = setting.number(), setting.table.label
    code = setting.random.choice(
        (
            'mean = sum(«row»["§"] for «row» in «rows») / max(len(«rows»), 1)\n'
            'return sorted(«row»["¶"] for «row» in «rows» if «row»["§"] > mean)',
            'values = [«row»["§"] for «row» in «rows»]\n«found» = []\nfor «row» in «rows»:\n'
            '    if «row»["§"] * len(values) > sum(values):\n        «found».append(«row»["¶"])\n'
            "return sorted(«found»)",
        )
    )
    code = code.replace("§", number).replace("¶", label)
    says = (
        f"Return the sorted {label} values of the rows whose {number} is above the mean {number}.",
        f"Which rows lie above the average {number}? Return their {label} values in order.",
    )

    def answer(rows: list[Row], above: bool) -> list:
        middle = sum(row[number] for row in rows) / max(len(rows), 1)
        return sorted(r[label] for r in rows if (r[number] > middle if above else r[number] < middle))

    wrong = Slip(
        code.replace('"] > mean', '"] < mean').replace("len(values) > ", "len(values) < "),
        lambda rows: answer(rows, False),
    )
    return Part(code, says, lambda rows: answer(rows, True), (wrong,), names=f"above_mean_{number}")


# ---- listings ------------------------------------------------------------------------------------------


def distinct(setting: Setting) -> Part:
    """The values of a category, in order, each once."""
    key = setting.category()
    code = setting.random.choice(
        (
            'return sorted({«row»["§"] for «row» in «rows»})',
            '«found» = []\nfor «row» in «rows»:\n    if «row»["§"] not in «found»:\n'
            '        «found».append(«row»["§"])\n'
            "«found».sort()\nreturn «found»",
            '«found» = dict.fromkeys(«row»["§"] for «row» in «rows»)\nreturn sorted(«found»)',
        )
    ).replace("§", key)
    says = (
        f"Return the sorted list of the different {key} values.",
        f"List every {key} that occurs, once and in order.",
    )
    slip = f'return sorted(«row»["{key}"] for «row» in «rows»)'
    wrong = Slip(slip, lambda rows: sorted(row[key] for row in rows))
    return Part(code, says, lambda rows: sorted({row[key] for row in rows}), (wrong,), names=f"list_{key}")


def texts(setting: Setting) -> Part:
    """A text for each row."""
    key, number, label = setting.category(), setting.number(), setting.table.label
    code = setting.random.choice(
        (
            "return [f\"{«row»['¶']} ({«row»['@']}): {«row»['§']}\" for «row» in «rows»]",
            "«found» = []\nfor «row» in «rows»:\n"
            '    «found».append("{} ({}): {}".format(«row»["¶"], «row»["@"], «row»["§"]))\nreturn «found»',
            'return [str(«row»["¶"]) + " (" + str(«row»["@"]) + "): " + str(«row»["§"]) for «row» in «rows»]',
        )
    )
    code = code.replace("§", number).replace("¶", label).replace("@", key)
    says = (
        f"Return a list of texts such as `A17 (north): 4`: {label}, then {key} in brackets, then {number}, a "
        "text per row.",
        f"Format each row as {label}, a blank, {key} in round brackets, a colon, a blank, {number}, like `A17 "
        "(north): 4`.",
    )

    def written(rows: list[Row], *order: str) -> list[str]:
        return [f"{row[order[0]]} ({row[order[1]]}): {row[order[2]]}" for row in rows]

    wrong = Slip(
        f"return [f\"{{«row»['{label}']}} ({{«row»['{number}']}}): {{«row»['{key}']}}\" for «row» in «rows»]",
        lambda rows: written(rows, label, number, key),
    )
    return Part(code, says, lambda rows: written(rows, label, key, number), (wrong,), names=f"describe_{number}")


def lookup(setting: Setting) -> Part:
    """The number of each label."""
    number, label = setting.number(), setting.table.label
    code = setting.random.choice(
        (
            'return {«row»["¶"]: «row»["§"] for «row» in «rows»}',
            '«found» = {}\nfor «row» in «rows»:\n    «found»[«row»["¶"]] = «row»["§"]\nreturn «found»',
            'return dict((«row»["¶"], «row»["§"]) for «row» in «rows»)',
        )
    )
    code = code.replace("§", number).replace("¶", label)
    says = (
        f"Return a dictionary from each {label} to its {number}.",
        f"I want to look {number} up by {label}, so return a dictionary.",
    )
    slip = f'return {{«row»["{number}"]: «row»["{label}"] for «row» in «rows»}}'
    wrong = Slip(slip, lambda rows: {row[number]: row[label] for row in rows})
    return Part(code, says, lambda rows: {row[label]: row[number] for row in rows}, (wrong,), names=f"{number}_lookup")


# ---- sequences -----------------------------------------------------------------------------------------


def running(setting: Setting) -> Part:
    """Running totals in the order of rows."""
    number = setting.number()
    code = setting.random.choice(
        (
            'return list(accumulate(«row»["§"] for «row» in «rows»))',
            '«found», so_far = [], 0\nfor «row» in «rows»:\n    so_far += «row»["§"]\n    «found».append(so_far)\n'
            "return «found»",
            'values = [«row»["§"] for «row» in «rows»]\nreturn [sum(values[: end + 1]) for end in range(len(values))]',
        )
    ).replace("§", number)
    imports = ("from itertools import accumulate",) if "accumulate" in code else ()
    says = (
        f"Return the list of running totals of {number}, row by row.",
        f"After each row, how much {number} has come together? Return the list of those sums.",
    )
    slip = f'return [«row»["{number}"] for «row» in «rows»]'
    wrong = Slip(slip, lambda rows: [row[number] for row in rows])

    def answer(rows: list[Row]) -> list:
        values: list[Any] = [row[number] for row in rows]
        return [sum(values[: end + 1]) for end in range(len(values))]

    return Part(code, says, answer, (wrong,), imports, f"running_{number}")


def changes(setting: Setting) -> Part:
    """Differences of each row and the one before."""
    number = setting.number()
    code = setting.random.choice(
        (
            'values = [«row»["§"] for «row» in «rows»]\n'
            "return [after - before for before, after in zip(values, values[1:])]",
            "«found» = []\nfor index in range(1, len(«rows»)):\n"
            '    «found».append(«rows»[index]["§"] - «rows»[index - 1]["§"])\nreturn «found»',
            "«found», before = [], None\nfor «row» in «rows»:\n    if before is not None:\n"
            '        «found».append(«row»["§"] - before)\n    before = «row»["§"]\nreturn «found»',
        )
    ).replace("§", number)
    says = (
        f"Return the list of differences in {number} between each row and the row before it.",
        f"From one row to the next, by how much does {number} change? Return the list of changes.",
    )
    wrong = Slip(
        f'values = [«row»["{number}"] for «row» in «rows»]\n'
        "return [before - after for before, after in zip(values, values[1:])]",
        lambda rows: [a[number] - b[number] for a, b in pairwise(rows)],
    )
    return Part(
        code, says, lambda rows: [b[number] - a[number] for a, b in pairwise(rows)], (wrong,), names=f"{number}_changes"
    )


def longest_run(setting: Setting) -> Part:
    """How many neighbours at most have one category."""
    key = setting.category()
    code = setting.random.choice(
        (
            'return max((len(list(group)) for _, group in groupby(«rows», key=lambda «row»: «row»["§"])), default=0)',
            "«found» = streak = 0\nbefore = None\nfor «row» in «rows»:\n"
            '    streak = streak + 1 if «row»["§"] == before else 1\n    before = «row»["§"]\n'
            "    «found» = max(«found», streak)\nreturn «found»",
        )
    ).replace("§", key)
    imports = ("from itertools import groupby",) if "groupby" in code else ()
    says = (
        f"Return the length of the longest run of neighbouring rows with the same {key} (0 without rows).",
        f"How many rows in a row have the same {key} at most? Return that number, 0 if there is no row.",
    )
    slip = f'return len({{«row»["{key}"] for «row» in «rows»}})'
    wrong = Slip(slip, lambda rows: len({row[key] for row in rows}))

    def answer(rows: list[Row]) -> int:
        best = run = 0
        for index, row in enumerate(rows):
            run = run + 1 if index and rows[index - 1][key] == row[key] else 1
            best = max(best, run)
        return best

    return Part(code, says, answer, (wrong,), imports, f"longest_{key}_run")


# ---- shares --------------------------------------------------------------------------------------------


def shares(setting: Setting) -> Part:
    """Per cent of a number for each category."""
    key, number = setting.category(), setting.number()
    code = setting.random.choice(
        (
            'whole = sum(«row»["§"] for «row» in «rows») or 1\n«found» = {}\nfor «row» in «rows»:\n'
            '    «found»[«row»["@"]] = «found».get(«row»["@"], 0) + «row»["§"]\n'
            "return {name: round(100 * part / whole, 1) for name, part in «found».items()}",
            'sums = {}\nfor «row» in «rows»:\n    sums.setdefault(«row»["@"], []).append(«row»["§"])\n'
            "whole = sum(sum(part) for part in sums.values()) or 1\n«found» = {}\nfor name, part in sums.items():\n"
            "    «found»[name] = round(100 * sum(part) / whole, 1)\nreturn «found»",
        )
    )
    code = code.replace("§", number).replace("@", key)
    says = (
        f"Return a dictionary from each {key} to its per cent of all {number}, rounded to 1 place (0 if all are 0).",
        f"What share of the {number} does each {key} have? In per cent with one decimal, as a dictionary; 0 "
        "for a sum of 0.",
    )

    def answer(rows: list[Row], factor: int) -> dict:
        sums = {name: sum(values) for name, values in _grouped(rows, key, number).items()}
        whole = sum(sums.values()) or 1
        return {name: round(factor * part / whole, 1) for name, part in sums.items()}

    wrong = Slip(code.replace("100 * ", "1 * "), lambda rows: answer(rows, 1))
    return Part(code, says, lambda rows: answer(rows, 100), (wrong,), names=f"{number}_share_by_{key}")


def histogram(setting: Setting) -> Part:
    """How many rows fall into intervals of equal width."""
    number = setting.number()
    width = setting.random.choice((5, 10, 20))
    code = setting.random.choice(
        (
            '«found» = {}\nfor «row» in «rows»:\n    low = int(«row»["§"] // $) * $\n'
            "    «found»[low] = «found».get(low, 0) + 1\nreturn «found»",
            'lows = [int(«row»["§"] // $) * $ for «row» in «rows»]\nreturn {low: lows.count(low) for low in lows}',
            'return dict(Counter(int(«row»["§"] // $) * $ for «row» in «rows»))',
        )
    )
    code = code.replace("§", number).replace("$", str(width))
    imports = ("from collections import Counter",) if "Counter" in code else ()
    says = (
        f"Return how many rows have a {number} from 0 to below {width}, from {width} to below {2 * width} and so on: a "
        f"dictionary from the lower end (a whole number) of each interval that occurs to its count.",
        f"I'd like a histogram of {number} in steps of {width}: keys are multiples of {width} (whole numbers, "
        "the lower "
        f"ends), values the number of rows from there to below the next step. Leave empty intervals out.",
    )

    def answer(rows: list[Row], width: int) -> dict:
        return dict(Counter(int(row[number] // width) * width for row in rows))

    wrong = Slip(
        code.replace(f"// {width}) * {width}", f"// {width + 1}) * {width + 1}"), lambda rows: answer(rows, width + 1)
    )
    return Part(code, says, lambda rows: answer(rows, width), (wrong,), imports, f"{number}_histogram")


def by_month(setting: Setting) -> Part:
    """The sum of a number for each month."""
    number, day = setting.number(), setting.table.day
    code = setting.random.choice(
        (
            '«found» = {}\nfor «row» in «rows»:\n    month = «row»["@"][:7]\n'
            '    «found»[month] = «found».get(month, 0) + «row»["§"]\nreturn «found»',
            'months = sorted({«row»["@"][:7] for «row» in «rows»})\n'
            'return {month: sum(«row»["§"] for «row» in «rows» if «row»["@"].startswith(month)) for month in months}',
            '«found» = defaultdict(int)\nfor «row» in «rows»:\n    year, month, _ = «row»["@"].split("-")\n'
            '    «found»[f"{year}-{month}"] += «row»["§"]\nreturn dict(«found»)',
        )
    )
    code = code.replace("§", number).replace("@", day)
    imports = ("from collections import defaultdict",) if "defaultdict" in code else ()
    says = (
        f"Return a dictionary from each month of `{day}`, written like 2024-03, to the sum of its {number}.",
        f"Sum the {number} month by month: a dictionary whose keys look like 2024-03, taken from the `{day}` day.",
    )

    def answer(rows: list[Row], length: int) -> dict:
        found: dict = {}
        for row in rows:
            month = row[day][:length]
            found[month] = found.get(month, 0) + row[number]
        return found

    slip = f'«found» = {{}}\nfor «row» in «rows»:\n    «found»[«row»["{day}"]] = «row»["{number}"]\nreturn «found»'
    wrong = Slip(slip, lambda rows: {row[day]: row[number] for row in rows})
    return Part(code, says, lambda rows: answer(rows, 7), (wrong,), imports, f"{number}_by_month")


# ---- pivots --------------------------------------------------------------------------------------------


def pivot(setting: Setting) -> Part:
    """Sums for each pair of categories, in dictionaries of dictionaries."""
    (first, second), number = setting.random.sample(list(setting.table.categories), 2), setting.number()
    code = setting.random.choice(
        (
            '«found» = {}\nfor «row» in «rows»:\n    inner = «found».setdefault(«row»["@"], {})\n'
            '    inner[«row»["&"]] = inner.get(«row»["&"], 0) + «row»["§"]\nreturn «found»',
            "«found» = defaultdict(lambda: defaultdict(int))\nfor «row» in «rows»:\n"
            '    «found»[«row»["@"]][«row»["&"]] += «row»["§"]\n'
            "return {name: dict(inner) for name, inner in «found».items()}",
            'pairs = {}\nfor «row» in «rows»:\n    pair = («row»["@"], «row»["&"])\n'
            '    pairs[pair] = pairs.get(pair, 0) + «row»["§"]\n«found» = {name: {} for name, _ in pairs}\n'
            "for (name, inner), value in pairs.items():\n    «found»[name][inner] = value\nreturn «found»",
        )
    )
    code = code.replace("§", number).replace("@", first).replace("&", second)
    imports = ("from collections import defaultdict",) if "defaultdict" in code else ()
    says = (
        f"Return a dictionary from each {first} to a dictionary from each of its {second} values to the sum "
        f"of {number}.",
        f"I need a cross table: for each {first}, and in it for each {second}, the summed {number} (nested "
        "dictionaries).",
    )

    def answer(rows: list[Row], outer: str, inner: str) -> dict:
        found: dict = {}
        for row in rows:
            sums = found.setdefault(row[outer], {})
            sums[row[inner]] = sums.get(row[inner], 0) + row[number]
        return found

    slip = (
        f'«found» = {{}}\nfor «row» in «rows»:\n    inner = «found».setdefault(«row»["{second}"], {{}})\n'
        f'    inner[«row»["{first}"]] = inner.get(«row»["{first}"], 0) + «row»["{number}"]\nreturn «found»'
    )
    return Part(
        code,
        says,
        lambda rows: answer(rows, first, second),
        (Slip(slip, lambda rows: answer(rows, second, first)),),
        imports,
        f"{number}_by_{first}_and_{second}",
    )


def cross_count(setting: Setting) -> Part:
    """How many rows each pair of categories has, by texts of both."""
    first, second = setting.random.sample(list(setting.table.categories), 2)
    code = setting.random.choice(
        (
            '«found» = {}\nfor «row» in «rows»:\n    key = «row»["@"] + "/" + «row»["&"]\n'
            "    «found»[key] = «found».get(key, 0) + 1\nreturn «found»",
            'return dict(Counter("/".join((«row»["@"], «row»["&"])) for «row» in «rows»))',
            "«found» = Counter()\nfor «row» in «rows»:\n    «found».update([f\"{«row»['@']}/{«row»['&']}\"])\n"
            "return {key: count for key, count in «found».items()}",
        )
    )
    code = code.replace("@", first).replace("&", second)
    imports = ("from collections import Counter",) if "Counter" in code else ()
    says = (
        f"Return a dictionary from {first} and {second}, joined by a slash, to the number of rows that have both.",
        f"Count the rows for every combination of {first} and {second}; keys look like `north/open`, {first} first.",
    )

    def answer(rows: list[Row], one: str, other: str) -> dict:
        return dict(Counter(f"{row[one]}/{row[other]}" for row in rows))

    slip = (
        f'«found» = {{}}\nfor «row» in «rows»:\n    key = «row»["{second}"] + "/" + «row»["{first}"]\n'
        "    «found»[key] = «found».get(key, 0) + 1\nreturn «found»"
    )
    return Part(
        code,
        says,
        lambda rows: answer(rows, first, second),
        (Slip(slip, lambda rows: answer(rows, second, first)),),
        imports,
        f"count_{first}_and_{second}",
    )


RESULTS: dict[str, tuple[Result, ...]] = {
    "totals": (total, mean, spread),
    "groups": (count_by, sum_by, mean_by, labels_by),
    "ranking": (largest, top, best_of_each, above_mean),
    "listings": (distinct, texts, lookup),
    "sequences": (running, changes, longest_run),
    "shares": (shares, histogram, by_month),
    "pivots": (pivot, cross_count),
}
