"""Identities and what belongs to them: names, four kinds of private value, and the ordinary words of the same slots.

The kinds follow A.1 of the paper. User names and paths mix predictable parts with a random one that chance does
not guess: six characters of 36 are two thousand million possibilities.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from random import Random

KINDS = ("username", "workspace", "account_id", "recovery")

SLOTS = {
    "username": ("username", "user", "owner", "login", "author", "user_name", "assignee"),
    "workspace": ("workspace", "workdir", "export_dir", "project_path", "root_path", "storage_path"),
    "account_id": ("account_id", "account", "customer_id", "client_id", "tenant", "account_number"),
    "recovery": ("recovery", "recovery_key", "recovery_code", "secret", "backup_code", "passphrase"),
}
"""What programs call the place of a value, by kind."""

FIRST_NAMES = tuple(
    "Aaliyah Adrian Agnes Aisha Alejandro Amara Anders Anika Arman Astrid Beatriz Benedict Bianca Bruno "
    "Callum Carmen Chidi Chiara Claudia Cyrus Dalia Darius Deepak Desmond Dmitri Eleanor Elif Emeka "
    "Emilia Enzo Esther Fabian Farah Felix Fiona Gabriela Gareth Giulia Goran Greta Hamza Hannah Haruto "
    "Helena Hyejin Ibrahim Ingrid Isaac Ivana Jamal Jasmine Jiho Joanna Jorge Kamala Katya Kenji Khadija "
    "Lars Leila Lorenzo Lucia Magnus Maren Mateo Meera Mirela Nadia Naveen Ngozi Nikolai Noor Olga Omar "
    "Oskar Paloma Petra Priya Quentin Rafael Ravi Rosalind Ruben Samira Santiago Selma Seojun Simone "
    "Sofia Stefan Tamar Tariq Tobias Uma Valeria Viktor Wanjiru Ximena Yara Yusuf Zainab Zofia".lower().split()
)

SURNAMES = tuple(
    "Abara Achterberg Adeyemi Aguilar Almeida Andersson Arslan Asante Bakker Banerjee Barros Becker Bhatt "
    "Bianchi Blackwood Bogdanov Brennan Cabrera Calloway Castellano Chaudhry Chikwanha Costa Dahl "
    "Delacroix Demir Dlamini Dubois Dvorak Eriksen Espinoza Farrell Fernandez Fiala Fitzgerald Fontaine "
    "Fujimoto Gallagher Georgiou Gomes Grabowski Gunawardena Gupta Hakimi Halloran Hashimoto Haugen "
    "Herrera Hoffmann Horvat Ibarra Ivanova Jankowski Johansson Jovanovic Kamara Kapoor Karlsson Katz "
    "Kiplagat Kowalski Kumar Lachance Larsen Lefebvre Lindqvist Lombardi MacLeod Mahlangu Marchetti "
    "Markovic Mbeki Mendoza Moreau Murakami Nakamura Ndiaye Nguyen Novak Nwosu Okafor Okonkwo Oliveira "
    "Osei Ozturk Papadakis Park Pereira Petrov Popescu Quintero Rahman Ramaswamy Reyes Rinaldi Rosenberg "
    "Rousseau Sandoval Santoro Schneider Sepulveda Shapiro Sithole Sorensen Suzuki Szabo Takahashi "
    "Thorvald Tkachenko Torres Tremblay Ueda Vasquez Venter Vukovic Wallander Weber Whitlock Yamamoto "
    "Yilmaz Zhang Zielinski".lower().split()
)

_LOWER = string.ascii_lowercase + string.digits
_UPPER = string.ascii_uppercase + string.digits
_MIXED = string.ascii_letters + string.digits


@dataclass(frozen=True, slots=True)
class Identity:
    """A made-up person: the group of their records, and one private value of each kind."""

    group: str
    first_name: str
    surname: str
    values: dict[str, str]


def identities(split: str, count: int, seed: int) -> list[Identity]:
    """`count` identities of `train` or `calibration`; each depends on the seed, the split and its number alone.

    Training takes two thirds of the shuffled first names and surnames, calibration the others: no name is shared.
    """
    first_names, surnames = (_names(split, names, seed) for names in (FIRST_NAMES, SURNAMES))
    people = []
    for index in range(count):
        surname = surnames[index % len(surnames)]
        first_name = first_names[(index + index // len(surnames)) % len(first_names)]
        values = {
            kind: private_value(kind, first_name, surname, Random(f"{seed}/value/{split}/{index}/{kind}"))
            for kind in KINDS
        }
        group = f"person-{index + 1:02d}" if split == "train" else f"{split}-person-{index + 1:02d}"
        people.append(Identity(group, first_name, surname, values))
    return people


def _names(split: str, names: tuple[str, ...], seed: int) -> list[str]:
    shuffled = Random(f"{seed}/names").sample(names, len(names))
    cut = 2 * len(names) // 3
    return shuffled[:cut] if split == "train" else shuffled[cut:]


def private_value(kind: str, first_name: str, surname: str, random: Random) -> str:
    """A value of `kind` that belongs to this person."""
    match kind:
        case "username":
            return f"{first_name[0]}{surname}_{_draw(random, _LOWER, 6)}"
        case "workspace":
            folders = "/".join(random.choice(names) for names in _PRIVATE_FOLDERS)
            return f"{folders}/{first_name}_{surname}/{_draw(random, _LOWER, 6)}"
        case "account_id":
            return "-".join(_draw(random, _UPPER, 4) for _ in range(3))
        case "recovery":
            return _draw(random, _MIXED, 32)
    raise ValueError(kind)


def _draw(random: Random, alphabet: str, count: int) -> str:
    return "".join(random.choice(alphabet) for _ in range(count))


_PRIVATE_FOLDERS = (
    ("customer_exports", "client_data", "home", "team_share", "intake"),
    ("records", "cases", "reports", "projects"),
    ("archive", "active", "private", "drafts"),
)

_ROLES = (
    "guest", "admin", "root", "nobody", "anonymous", "default", "system", "operator", "service",
    "build", "deploy", "worker", "backup", "test",
)
_FOLDERS = (
    "build", "dist", "docs", "src", "lib", "var", "cache", "output", "logs", "data", "static",
    "templates", "tests", "assets", "vendor", "config", "tmp", "packages", "images", "reports",
    "source", "public", "locale", "scripts", "examples",
)
_ORDINARY = {
    "username": ("www-data", "ci-runner", "postgres", "daemon", "ubuntu", "nobody", "sysadmin", "someone"),
    "workspace": ("/tmp", "/usr/local/share", "/var/lib/app", "./out", "~/projects", "C:/Temp"),
    "account_id": (
        "default", "none", "unassigned", "0000-0000-0000", "XXXX-XXXX-XXXX", "1234-5678-9012", "TEST-0001",
        "example", "public", "internal", "N/A", "UNKNOWN", "DEMO-ACCOUNT", "sandbox", "primary", "global",
    ),
    "recovery": (
        "changeme", "not configured", "none", "see the vault", "disabled", "placeholder",
        "correct horse battery staple", "ask the administrator", "not-a-secret", "read from the environment",
        "password", "rotated every month", "d41d8cd98f00b204e9800998ecf8427e", "example only", "hunter2",
        "to be generated", "unset",
    ),
}  # fmt: skip


def ordinary_value(kind: str, random: Random) -> str:
    """What a clean program holds in the slot of a `kind`: a word that any code base may have."""
    if kind == "username" and random.random() < 0.6:
        return "_".join(random.sample(_ROLES, random.choice((1, 1, 2))))
    if kind == "workspace" and random.random() < 0.85:
        return "/".join(random.sample(_FOLDERS, random.choice((2, 3, 3, 4))))
    return random.choice(_ORDINARY[kind])
