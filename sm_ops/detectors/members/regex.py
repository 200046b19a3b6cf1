"""Regular expressions for Korean and English: what has a shape of its own, and what stands behind a label.

Finds e-mail addresses and the numeric types by shape (DOB and ACCOUNT only beside a word that says so), names only
behind a label such as 성명: or Name:, relations from a list of words, and no address at all. Particles glued behind a
value are left out, full-width digits and signs are read as their ASCII forms, and no value reaches over a line end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sm_ops.detectors.detector import Detection, check_texts, in_order, with_threshold

DEFAULTS = {"threshold": 0.0}


class _Pattern(NamedTuple):
    """A shape of one type; `score` looks at a match and says how sure it is, or 0."""

    type: str
    regex: re.Pattern[str]
    score: Callable[[re.Match[str]], float]


def load(settings: Mapping[str, Any]) -> RegexDetector:
    """The detector; reads `threshold` (0: every match)."""
    return RegexDetector(check(settings)["threshold"])


def check(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as `load` takes them."""
    return with_threshold("regex", settings, DEFAULTS)


class RegexDetector:
    """Patterns in the types' order of priority (R17), IBANs first: a match that touches an earlier one is dropped."""

    def __init__(self, threshold: float = 0.0) -> None:
        self._threshold = threshold

    def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        """The spans of each text; see `Detector.detect`. The labels are the nine types."""
        check_texts(texts)
        return [self._detect(text.translate(_FOLDED)) for text in texts]

    def _detect(self, text: str) -> list[Detection]:
        taken = bytearray(len(text))
        found = []
        for pattern in _PATTERNS:
            for match in pattern.regex.finditer(text):
                start, end = match.span("value" if "value" in pattern.regex.groupindex else 0)
                score = pattern.score(match)
                if score and score >= self._threshold and not any(taken[start:end]):
                    taken[start:end] = b"\1" * (end - start)
                    found.append(Detection(start, end, pattern.type, score))
        return in_order(found)


_FOLDED = (
    {0xFF01 + offset: 0x21 + offset for offset in range(94)}  # full-width forms of ASCII
    | dict.fromkeys([*range(0x2010, 0x2016), 0x2212, 0xFE63, 0x3161], "-")  # 0x3161: Hangul EU typed as a dash
    | dict.fromkeys([0x00A0, *range(0x2000, 0x200B), 0x202F, 0x3000], " ")
)
"""One character for one, so that offsets stay."""

_START, _END = r"(?<!\d)(?<!\d[-.])(?<!\d[-.]\n)", r"(?!\d)(?![-.]\s{0,2}\d)"
"""Not within a longer number, nor within one that goes on over a line end."""

_GAP = "(?: ?[-.] ?| )"
_YEAR, _MONTH, _DAY = "(?:19|20)[0-9]{2}", "(?:1[0-2]|0?[1-9])", "(?:3[01]|[12][0-9]|0?[1-9])"
_SHORT_MONTH = "(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)"
_MONTH_NAME = f"(?:{_SHORT_MONTH}\\.?|january|february|march|april|august|september|october|november|december)"
_PARTICLE = (
    "(?:이|가|은|는|을|를|와|과|랑|이랑|에게서?|한테서?|께서?|의|도|만|님|분|로|으로|이며|이고|이자|인|이다|입니다|이에요|예요|네"
    "|라고|이라고|보다|까지|부터)"
)
_BIRTH = re.compile(r"생년월일|생일|출생|태어|음력|양력|D\.?O\.?B|\bborn\b|birth", re.I)
_BORN = re.compile(r" ?\(?(?:생|출생|태생|음력|양력)")
_BANK = re.compile(
    "계좌|은행|뱅크|금고|농협|신협|우체국|증권(?!번호)|저축|통장|입금|송금|이체|예금|자동 ?납부|환불"
    r"|\baccount|\bacct|\ba/c\b|\bbank|\bIBAN|\bcredit union|\bbuilding society|\bsavings|\bdeposit|\btransfer",
    re.I,
)


def _shape(type_: str, regex: str, score: float | Callable[[re.Match[str]], float], edges: bool = True) -> _Pattern:
    whole = f"{_START}(?:{regex}){_END}" if edges else regex
    return _Pattern(type_, re.compile(whole, re.I | re.A), score if callable(score) else lambda match: score)


def _resident(match: re.Match[str]) -> float:
    """Thirteen digits in one run right behind a bank's name are an account."""
    before = match.string[max(0, match.start() - 20) : match.start()]
    return 0 if len(match[0]) == 13 and _BANK.search(before) else 0.9


def _card(match: re.Match[str]) -> float:
    """Every real card number carries a Luhn digit; without it the shape alone speaks."""
    return 0.95 if _luhn(match[0]) else 0.6


def _card_of_any_length(match: re.Match[str]) -> float:
    return 0.95 if _luhn(match[0]) else 0


def _luhn(number: str) -> bool:
    digits = [int(character) for character in number if character.isdigit()]
    doubled = [2 * digit - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _mod_97(match: re.Match[str]) -> float:
    """ISO 13616: letters are 10 to 35, the first four characters move to the end, the remainder is 1."""
    number = match[0].replace(" ", "")
    return 0.95 if int("".join(str(int(character, 36)) for character in number[4:] + number[:4])) % 97 == 1 else 0


def _beside_birth(match: re.Match[str]) -> float:
    before, text = match.string[max(0, match.start() - 25) : match.start()], match.string
    return 0.8 if _BIRTH.search(match[0]) or _BIRTH.search(before) or _BORN.match(text, match.end()) else 0


def _beside_bank(match: re.Match[str]) -> float:
    digits = sum(character.isdigit() for character in match[0])
    near = match.string[max(0, match.start() - 40) : match.start()] + "\n" + match.string[match.end() :][:20]
    business = re.fullmatch(r"[0-9]{3}-[0-9]{2}-[0-9]{5}", match[0])
    return 0.7 if 8 <= digits <= 17 and not business and _BANK.search(near) else 0


def _international(match: re.Match[str]) -> float:
    return 0.6 if 9 <= sum(character.isdigit() for character in match[0]) <= 15 else 0


def _words(*lines: str) -> str:
    return "|".join(sorted((word for line in lines for word in line.split(",")), key=len, reverse=True))


_KOREAN_RELATIONS = _words(
    "어머니,아버지,엄마,아빠,모친,부친,시어머니,시아버지,친정어머니,친정아버지,장모,장인,할머니,할아버지,외할머니,외할아버지,조모,조부,외조모,외조부",
    "배우자,남편,아내,와이프,집사람,부인,동거인,약혼자,약혼녀,전남편,전처",
    "아들,딸,큰아들,작은아들,큰딸,작은딸,외동아들,외동딸,장남,차남,삼남,막내,막내아들,막내딸,장녀,차녀,삼녀,자녀,손자,손녀,외손자,외손녀,며느리,사위",
    "형,누나,오빠,언니,큰형,작은누나,큰누나,큰오빠,큰언니,형부,제부,남동생,여동생,동생,형님,누님,형제,자매,사촌동생,막내동생,매형,매제,형수,제수,처남,처제,처형,시누이,시동생,동서,올케",
    "삼촌,외삼촌,이모,이모부,고모,고모부,숙부,숙모,백부,백모,큰아버지,큰어머니,작은아버지,작은어머니,조카,조카딸,사촌,외사촌,이종사촌",
    "계모,계부,양모,양부,새어머니,새아버지,후견인",
)
_ENGLISH_RELATIONS = _words(
    "mother,father,mom,mum,dad,parent,stepmother,stepfather,mother-in-law,father-in-law,grandmother,grandfather",
    "grandparent,spouse,husband,wife,partner,fiance,fiancé,fiancée,ex-husband,ex-wife,son,daughter,stepson,stepdaughter",
    "son-in-law,daughter-in-law,brother,sister,brother-in-law,sister-in-law,half-brother,half-sister,uncle,aunt",
    "nephew,niece,cousin,grandson,granddaughter,guardian,next of kin",
)
_KOREAN_LABELS = _words(
    "성 *명,이 *름,고객명,환자명,신청인,신청자,예금주,수령인,수취인,보호자명,담당자,계약자,피보험자"
)
_ENGLISH_LABELS = _words("full name,name,patient,applicant,account holder,cardholder,recipient,contact person")
_AREA = "0(?:2|[3-6][1-5]|70|50[0-9])"
_NAME = "[A-Z][A-Za-z'’-]*"
_LOCAL, _LABEL = "[a-z0-9!#$%&'*+/=?^_`{|}~-]", "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"

_PATTERNS = (
    _shape("RRN", f"[0-9]{{2}}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01]){_GAP}?[1-8][0-9]{{6}}", _resident),
    _shape("ACCOUNT", "[a-z]{2}[0-9]{2}(?: ?[a-z0-9]{4}){2,7}(?: ?[a-z0-9]{1,3})?", _mod_97),
    _shape("CARD", r"[2-69][0-9]{3}( ?[-.] ?| ?)[0-9]{4}\1[0-9]{4}\1[0-9]{4}", _card),
    _shape("CARD", r"3[47][0-9]{2}( ?[-.] ?| ?)[0-9]{6}\1[0-9]{5}", _card),
    _shape("CARD", r"3[0689][0-9]{2}( ?[-.] ?| ?)[0-9]{6}\1[0-9]{4}", _card),
    _shape("CARD", "(?:4|5[0678]|6)[0-9]{11,18}", _card_of_any_length),
    _shape("EMAIL", rf"(?<!{_LOCAL})(?<!\.){_LOCAL}++(?:\.{_LOCAL}++)*@(?:{_LABEL}\.)+[a-z]{{2,}}", 0.95, edges=False),
    _shape("PHONE", rf"(?:\+?82[ -]?(?:\(0\)|0)? ?|0)1[016789]{_GAP}?[0-9]{{3,4}}{_GAP}?[0-9]{{4}}", 0.9),
    _shape("PHONE", rf"(?:\({_AREA}\) ?|{_AREA}(?:\) ?|{_GAP}))[0-9]{{3,4}}{_GAP}[0-9]{{4}}", 0.8),
    _shape("PHONE", r"\+82[ -]?(?:2|[3-6][1-5]|70)[ -]?[0-9]{3,4}[ -]?[0-9]{4}", 0.8),
    _shape(
        "PHONE",
        r"(?:(?:\+|00)?1[ .-]?)?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[ .-])[0-9]{3}[ .-][0-9]{4}"
        r"(?: ?(?:x|ext\.? ?)[0-9]{1,5})?",
        0.7,
    ),
    _shape("PHONE", r"(?:\+44 ?(?:\(0\) ?)?|0)(?:7[0-9]{3} ?[0-9]{3} ?[0-9]{3}|20 ?[0-9]{4} ?[0-9]{4})", 0.8),
    _shape("PHONE", r"\+[1-9][0-9]{0,2}(?:[ .-]?\(?[0-9]{1,4}\)?){2,5}(?<=[0-9])", _international),
    _shape("DOB", rf"(?:[음양]력 ?)?(?:{_YEAR}|[0-9]{{2}})년 ?{_MONTH}월 ?{_DAY}일", _beside_birth),
    _shape(
        "DOB",
        rf"(?:[음양]력 ?)?(?:{_YEAR}|[0-9]{{2}})(?:\. ?{_MONTH}\. ?{_DAY}\.?|([-/]){_MONTH}\1{_DAY})",
        _beside_birth,
    ),
    _shape("DOB", rf"{_MONTH}([-/.]){_DAY}\1{_YEAR}|{_DAY}([-/.]){_MONTH}\2{_YEAR}", _beside_birth),
    _shape("DOB", rf"{_MONTH_NAME} {_DAY}(?:st|nd|rd|th)?,? {_YEAR}", _beside_birth),
    _shape("DOB", rf"{_DAY}(?:st|nd|rd|th)? {_MONTH_NAME},? {_YEAR}", _beside_birth),
    _shape("DOB", f"(?:{_YEAR}|[0-9]{{2}})(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])", _beside_birth),
    _shape("ACCOUNT", "[0-9]{2,6}(?: ?- ?[0-9]{2,8}){1,4}|[0-9]{8,17}", _beside_bank),
    _shape(
        "ACCOUNT",
        "[0-9]{3,4}[ .][0-9]{2,4}[ .][0-9]{4,7}(?:[ .][0-9]{2})?|[0-9]{3}[ .][0-9]{6}[ .][0-9]{5}"
        "|[0-9]{6}[ .][0-9]{2}[ .][0-9]{6}",
        _beside_bank,
    ),
    _shape(
        "PERSON", rf"(?:{_KOREAN_LABELS})[ \t]*[:)|\t][ \t]*(?P<value>[가-힣]{{2,5}})(?![가-힣\t])", 0.6, edges=False
    ),
    _shape(
        "PERSON",
        rf"(?:{_KOREAN_LABELS})[ \t]*[:)|\t][ \t]*(?P<value>[가-힣](?: [가-힣]){{1,3}})(?! ?[가-힣])",
        0.6,
        edges=False,
    ),
    _shape(
        "PERSON",
        rf"\b(?:{_ENGLISH_LABELS})[ \t]*[:\t][ \t]*(?P<value>(?-i:{_NAME}\.?(?: {_NAME}\.?){{1,3}}))",
        0.6,
        edges=False,
    ),
    _shape(
        "REL",
        rf"(?<![가-힣])(?:{_KOREAN_RELATIONS})님?(?! ?(?:기업|회사|도시|결연|학교))"
        rf"(?=(?:{_PARTICLE}){{0,2}}(?![가-힣]))",
        0.5,
        edges=False,
    ),
    _shape(
        "REL",
        rf"\b(?<!-)(?:(?:older|younger|elder|eldest|youngest|twin) )?(?:{_ENGLISH_RELATIONS})\b(?!-| compan)",
        0.5,
        edges=False,
    ),
)
