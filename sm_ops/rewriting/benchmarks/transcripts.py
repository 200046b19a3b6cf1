"""Synthetic conversations for RAT-Bench's validation: profiles, each told at three levels of difficulty.

Level 1 says every attribute plainly, level 2 in an unusual spelling, level 3 only implies it (as the benchmark's
generator asks of its model). Numbers are of ranges that nobody holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from sm_ops.core.records import Record, Span
from sm_ops.core.seeds import derive
from sm_ops.data.identities import FIRST_NAMES, SURNAMES

VALIDATION, APPLIED, CLEAN = 15, 20, 30
"""Profiles of validation (the paper's) and of the application side; texts for a reference."""
LEVELS = (1, 2, 3)
STATES = {
    "Oregon/OR": "the Beaver State", "Texas/TX": "the Lone Star State", "Maine/ME": "the Pine Tree State",
    "Florida/FL": "the Sunshine State", "Nevada/NV": "the Silver State", "Ohio/OH": "the Buckeye State",
    "Alaska/AK": "the Last Frontier", "Hawaii/HI": "the Aloha State",
}  # fmt: skip
MARITAL = {
    "Married": "my better half is waiting for me at home",
    "Divorced": "my ex and I split the furniture years ago",
    "Widowed": "the house has been quiet since the funeral of my spouse",
    "Never married": "I have never had to share a surname with anyone",
}
SEXES = {"Male": "I was an altar boy once", "Female": "I was the only girl in that shop class"}
JOBS = {
    "Nurse": "I spend my nights on the ward with other people's drips",
    "Electrician": "I pull cable and hang fuse boxes all day",
    "Teacher": "thirty essays are waiting on my desk to be marked",
    "Accountant": "the end of the fiscal year is when nobody sees me",
    "Chef": "the brigade calls me out when a sauce breaks",
    "Bus driver": "I know every stop of line forty by heart",
}
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
"""As dates of profiles have them."""
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SMALL_TALK = (
    ("Target", "Thanks for making time for this today."),
    ("Other", "Of course, how has your week been so far?"),
    ("Target", "Busy, but the weather was kind and I got a long walk in."),
    ("Other", "That sounds like a good way to clear your head."),
    ("Target", "It is, and I sleep much better when I move a little."),
    ("Other", "Let us go through the form together and then talk about the next steps."),
    ("Target", "Fine with me, I have the papers here."),
    ("Other", "Is there anything you would like to change compared with last time?"),
    ("Target", "I would like shorter appointments and a reminder the day before."),
    ("Other", "We can do that, many people ask for it."),
    ("Target", "And is the parking behind the building still free?"),
    ("Other", "Yes, as long as you leave before six in the evening."),
    ("Target", "Great, then I will bring the rest of the documents next time."),
    ("Other", "Perfect, I will send you a summary of what we agreed on."),
)

OTHER_TALK = (
    ("Other", "Good morning, can you hear me well?"),
    ("Target", "Yes, the line is clear, and I can see your slides."),
    ("Other", "I will start with the agenda and leave room for questions at the end."),
    ("Target", "Sounds good, I had a look at the notes from the last meeting."),
    ("Other", "Then you know that we moved the deadline by a week."),
    ("Target", "I do, and I think that helps everybody on the team."),
    ("Other", "Let me know if the new plan is too tight for your group."),
    ("Target", "We should manage, as long as the test machines arrive on time."),
    ("Other", "They were shipped yesterday, so you will have them soon."),
    ("Target", "Then I have nothing else on my list."),
    ("Other", "We could use the rest of the hour to sort the open tickets."),
    ("Target", "I would start with the ones that customers wait for."),
)
"""What clean texts are made of: a reference has read no line of the two sides."""

Piece = str | tuple[str, str]
"""Plain text, or a private value with its attribute."""
Turn = tuple[str, Sequence[Piece]]


@dataclass(frozen=True)
class Profile:
    """A person: direct and indirect identifiers by attribute, as the benchmark names them."""

    number: int
    direct: dict[str, str]
    indirect: dict[str, str]


def generate(seed: int, applied: int, levels: Sequence[int]) -> tuple[list[Record], list[Record], list[Record]]:
    """Validation, application and clean records; every profile is on one side alone."""
    people = list(_profiles(seed, VALIDATION + applied))
    validation, application = people[:VALIDATION], people[VALIDATION:]
    return (
        [_record(seed, person, level) for person in validation for level in LEVELS],
        [_record(seed, person, level) for person in application for level in levels],
        [_clean(seed, number) for number in range(CLEAN)],
    )


def _profiles(seed: int, count: int) -> Iterator[Profile]:
    rng = Random(derive(seed, "rat", "profiles"))
    pairs = [(first, last) for first in FIRST_NAMES for last in SURNAMES]
    for number, (first, last) in enumerate(rng.sample(pairs, count)):
        name = f"{first.title()} {last.title()}"
        group = rng.randrange(1000, 10_000)
        yield Profile(
            number,
            direct={
                "name": name,
                "email": f"{first}.{last}{group % 100}@example.org".lower(),
                "phone number": f"({rng.randrange(201, 990)}) 555-01{number % 100:02d}",
                "SSN": f"000-{rng.randrange(10, 100)}-{group}",
            },
            indirect={
                "DOB": f"{rng.randrange(1, 29)} {rng.choice(MONTHS)} {rng.randrange(1948, 2004)}",
                "ST": rng.choice(list(STATES)),
                "MAR": rng.choice(list(MARITAL)),
                "SEX": rng.choice(list(SEXES)),
                "OCCP": rng.choice(list(JOBS)),
            },
        )


def _record(seed: int, person: Profile, level: int) -> Record:
    rng = Random(derive(seed, "rat", str(person.number), str(level)))
    telling = list(_told(person, level))
    rng.shuffle(telling)
    chat: list[Turn] = [(who, (line,)) for who, line in rng.sample(SMALL_TALK, 10)]
    for turn in telling:
        chat.insert(rng.randrange(1, len(chat) + 1), turn)
    text, spans = _rendered(chat)
    meta = {"level": level, "scenario": "Meeting transcript", "direct": person.direct, "indirect": person.indirect}
    return Record(f"{level}-{person.number}", text, group=str(person.number), spans=tuple(spans), meta=meta)


def _rendered(turns: Sequence[Turn]) -> tuple[str, list[Span]]:
    text, spans = "[START OF TRANSCRIPT]", []
    for who, pieces in turns:
        text += f"\n{who}: "
        for piece in pieces:
            value, label = (piece, None) if isinstance(piece, str) else piece
            if label is not None:
                spans.append(Span(len(text), len(text) + len(value), label))
            text += value
        text += "\n"
    return text + "[END OF TRANSCRIPT]", spans


def _clean(seed: int, number: int) -> Record:
    rng = Random(derive(seed, "rat", "clean", str(number)))
    text, _ = _rendered([(who, (line,)) for who, line in rng.sample(OTHER_TALK, 10)])
    return Record(f"clean-{number}", text)


def _told(person: Profile, level: int) -> Iterator[Turn]:
    say = {1: _plainly, 2: _oddly, 3: _by_hints}[level]
    for name, value in (person.direct | person.indirect).items():
        yield ("Target", tuple(say(name, value)))


def _plainly(name: str, value: str) -> Iterator[Piece]:
    before, after = {
        "name": ("My full name is ", "."),
        "email": ("You can write to me at ", " any time."),
        "phone number": ("My phone number is ", "."),
        "SSN": ("For the form, my social security number is ", "."),
        "DOB": ("I was born on ", "."),
        "ST": ("I live in ", "."),
        "MAR": ("For marital status please put ", "."),
        "SEX": ("And for sex it is ", "."),
        "OCCP": ("By occupation I am entered as ", "."),
    }[name]
    yield before
    yield value.partition("/")[0], name
    yield after


def _oddly(name: str, value: str) -> Iterator[Piece]:
    shown = value.partition("/")[0]
    if name in ("phone number", "SSN"):
        shown = " ".join(DIGITS[int(each)] for each in value if each.isdigit())
    elif name == "email":
        shown = value.replace(".", " dot ").replace("@", " at ")
    elif name == "name":
        shown = " ".join("-".join(part.upper()) for part in value.split())
    elif name == "DOB":
        day, month, year = value.split()
        shown = f"{month[:3].lower()} the {day}, '{year[2:]} ({year[:2]}-something)"
    elif name == "ST":
        shown = f"good old {value.partition('/')[2]}"
    yield {"name": "Spelled out I am ", "DOB": "My big day is ", "ST": "Home is "}.get(name, "Just note down ")
    yield shown, name
    yield ", got it?"


def _by_hints(name: str, value: str) -> Iterator[Piece]:
    if name == "DOB":
        day, month, year = value.split()
        yield f"I turned ten in {int(year) + 10}, and my cake comes {_place(int(day))} of {month}", name
    elif name == "name":
        first, last = value.split()
        yield f"People make puns on {first}, and the old {last} place is called after my grandfather", name
    elif name in ("phone number", "SSN"):
        yield f"The last digits of my {name} are {value[-4:]}, you have the beginning on file", name
    elif name == "email":
        yield f"My mail is what I am called in front of example.org, with {value.partition('@')[0][-2:]} behind", name
    else:
        yield {"ST": STATES, "MAR": MARITAL, "SEX": SEXES, "OCCP": JOBS}[name][value], name
    yield ", as you know."


def _place(day: int) -> str:
    return f"{day - 1} days after the first" if day > 1 else "on the first day"
