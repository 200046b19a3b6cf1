"""Taggers: classes, gold, unions, labels of records; spaCy for real, Flair through a stand-in of its interface."""

from __future__ import annotations

import random
import re
import sys
from types import ModuleType, SimpleNamespace

import pytest

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.core.records import Message, Record, Span
from sm_ops.detectors.classes import class_of
from sm_ops.detectors.detector import Detection
from sm_ops.detectors.labels import LABELS
from sm_ops.detectors.members.gold import GoldDetector
from sm_ops.detectors.members.spacy_ import SpacyDetector
from sm_ops.detectors.members.union import UnionDetector
from sm_ops.detectors.taggers import Tagger, load_tagger, relabel

TAB = {"PERSON", "ORG", "LOC", "DATETIME", "CODE", "QUANTITY", "DEM", "MISC"}
unit = pytest.mark.unit


def record(text: str, **labels: str) -> Record:
    """A record whose spans are the first places of some values; `PERSON="Ann"` labels one."""
    spans = tuple(Span(text.index(v), text.index(v) + len(v), label) for label, v in labels.items())
    return Record(text[:12], text=text, spans=spans)


def found(detector, text: str) -> list[tuple[str, str]]:
    return [(text[each.start : each.end], each.label) for each in detector.detect([text])[0]]


# ---- classes -------------------------------------------------------------------------------------------


@unit
@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("PERSON", "PERSON"), ("private_person", "PERSON"), ("PER", "PERSON"),
        ("GPE", "LOC"), ("FAC", "LOC"), ("LOCATION", "LOC"), ("private_address", "LOC"), ("ADDRESS", "LOC"),
        ("ORGANIZATION", "ORG"), ("NORP", "DEM"), ("NRP", "DEM"), ("LANGUAGE", "DEM"),
        ("DATE", "DATETIME"), ("TIME", "DATETIME"), ("DATE_TIME", "DATETIME"), ("DOB", "DATETIME"),
        ("RRN", "CODE"), ("KR_RRN", "CODE"), ("CREDIT_CARD", "CODE"), ("account_number", "CODE"),
        ("MONEY", "QUANTITY"), ("CARDINAL", "QUANTITY"), ("WORK_OF_ART", "MISC"), ("LAW", "LAW"),
        ("EMAIL_ADDRESS", "EMAIL"), ("private_phone", "PHONE"), ("URL", "URL"), ("username", "USERNAME"),
    ],
)  # fmt: skip
def test_each_label_has_its_class(label, expected):
    assert class_of(label) == expected


@unit
def test_classes_are_fixed_points_and_few():
    classes = {class_of(label) for label in LABELS}
    assert {class_of(name) for name in classes | TAB} == classes | TAB
    assert classes - TAB == {"EMAIL", "PHONE", "URL", "LAW", "REL"}


# ---- gold ----------------------------------------------------------------------------------------------

KNOWN = [
    record("Ann Lee met Ann in Bree.", PERSON="Ann Lee", LOC="Bree"),
    record("Lee paid 12 euros to Bree Bank.", PERSON="Lee", QUANTITY="12", ORG="Bree Bank"),
    record("case 36110/97", CODE="36110/97"),
]


@unit
def test_gold_gives_a_known_text_its_own_spans_and_nothing_more():
    gold = GoldDetector(KNOWN)
    assert found(gold, KNOWN[0].content) == [("Ann Lee", "PERSON"), ("Bree", "LOC")]
    assert found(gold, KNOWN[1].content) == [("Lee", "PERSON"), ("12", "QUANTITY"), ("Bree Bank", "ORG")]  # no Bree


@unit
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ann Lee and Lee.", [("Ann Lee", "PERSON"), ("Lee", "PERSON")]),  # the longest of a class
        ("Leeds, Sleep, Lee_2", []),
        ("Lee's, (Lee)", [("Lee", "PERSON")] * 2),
        ("Bree Bank", [("Bree", "LOC"), ("Bree Bank", "ORG")]),  # two classes overlap
        ("112, 12.5, 1,12, 12", [("12", "QUANTITY")]),  # numbers go on behind points and commas
        ("no. 36110/97.", [("36110/97", "CODE")]),
        ("no. 36110/971", []),
        ("Ann", []),
        ("", []),
    ],
)
def test_gold_searches_other_texts_for_whole_values(text, expected):
    assert found(GoldDetector(KNOWN), text) == expected


@unit
def test_gold_of_korean_values_allows_glued_particles():
    gold = GoldDetector([record("담당 김가상", PERSON="김가상")])
    assert found(gold, "김가상은 왔다. 신김가상") == [("김가상", "PERSON")]


@unit
def test_gold_agrees_with_a_search_by_hand():
    rng = random.Random(3)
    values = ["ab", "abc", "b a", "a", "cab"]
    gold = GoldDetector([Record(v, text=v + "!", spans=(Span(0, len(v), "X"),)) for v in values])
    for _ in range(300):
        text = "".join(rng.choices("abc  .", k=12))
        places = [(m.start(), m.start() + len(v)) for v in values for m in re.finditer(rf"(?<!\w)(?={v}(?!\w))", text)]
        kept = []
        for start, end in sorted(places, key=lambda p: (p[0] - p[1], p)):
            if all(end <= a or b <= start for a, b in kept):
                kept.append((start, end))
        assert [each[:2] for each in gold.detect([text + "?"])[0]] == sorted(kept)


@unit
def test_gold_without_records_or_values():
    with pytest.raises(InputError, match="needs `records`"):
        registry.load("detector", "gold").load({})
    assert GoldDetector([Record("a", text="x")]).detect(["x", "y"]) == [[], []]


# ---- unions and names ----------------------------------------------------------------------------------


class Fixed:
    """Finds the same places in every text."""

    def __init__(self, *detections):
        self.detections = [Detection(*each) for each in detections]

    def detect(self, texts):
        return [list(self.detections) for _ in texts]


@unit
def test_a_union_keeps_the_longest_of_one_label_and_all_labels():
    one = Fixed((0, 4, "A", 0.5), (6, 9, "A", 0.9))
    two = Fixed((0, 6, "A", 0.3), (1, 3, "B", 0.6), (6, 9, "A", 0.2))
    expected = [(0, 6, "A", 0.3), (1, 3, "B", 0.6), (6, 9, "A", 0.9)]
    assert UnionDetector([one, two]).detect(["any text", "x"]) == [expected] * 2
    assert UnionDetector([one, two], threshold=0.5).detect(["any text"]) == [expected[1:]]
    assert UnionDetector([one, two]).detect([]) == []


@unit
def test_a_tagger_merges_by_class():
    tagger = Tagger((Fixed((0, 4, "DATE", 0.5)), Fixed((2, 9, "DOB", 0.9), (0, 4, "GPE", 1.0))))
    assert tagger.detect(["any text."]) == [[(0, 4, "LOC", 1.0), (2, 9, "DATETIME", 0.9)]]


@unit
@pytest.mark.parametrize(
    "settings", [{"of": "regex"}, {"of": []}, {"of": ["union"]}, {"of": ["regex"], "settings": {"shapes": {}}}]
)
def test_a_union_of_nothing_sensible_is_refused(settings):
    with pytest.raises(InputError, match=r"(?i)union"):
        registry.load("detector", "union").load(settings)


@unit
def test_unknown_taggers_are_answered_with_the_nearest():
    with pytest.raises(InputError, match="nearest is spacy"):
        load_tagger("regex+spasy")


@unit
def test_a_name_joins_detectors():
    text = "Ann Lee writes to ann@example.com."
    assert found(load_tagger("gold + regex", KNOWN), text) == [("Ann Lee", "PERSON"), ("ann@example.com", "EMAIL")]


# ---- records -------------------------------------------------------------------------------------------


@unit
def test_gold_labels_of_records_are_their_own_whatever_the_tagger_knows():
    other = record("Lee was born on 1 May.", DATE="1 May")
    assert relabel([other], load_tagger("gold", KNOWN))[0].spans == (Span(16, 21, "DATETIME"),)
    (with_mail,) = relabel([record("a@b.example by Kim", PERSON="Kim")], load_tagger("gold+regex", KNOWN))
    assert with_mail.spans == (Span(0, 11, "EMAIL"), Span(15, 18, "PERSON"))


@unit
def test_other_taggers_replace_the_spans_and_nothing_else():
    before = Record("r", text="a@b.example", group="g", spans=(Span(0, 1, "OLD"),), meta={"k": 1})
    (after,) = relabel([before], load_tagger("regex"))
    assert after == Record("r", text="a@b.example", group="g", spans=(Span(0, 11, "EMAIL"),), meta={"k": 1})


@unit
def test_in_chats_spans_count_in_their_message_and_end_with_it():
    chat = Record("c", messages=(Message("user", "to a@b.example"), Message("assistant", "fine")))
    assert relabel([chat], load_tagger("regex"))[0].spans == (Span(3, 14, "EMAIL", 0),)
    across = relabel([chat], Fixed((10, 17, "ORG", 1.0)))
    assert across[0].spans == (Span(10, 14, "ORG", 0), Span(0, 2, "ORG", 1))


# ---- spaCy ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def spacy_detector() -> SpacyDetector:
    pytest.importorskip("spacy")
    return registry.load("detector", "spacy").load({})


def test_spacy_finds_entities_at_code_points(spacy_detector):
    text = "😀 In March 1998 Angela Meyer of Siemens moved from Berlin to Paris."
    entities = found(spacy_detector, text)
    assert {("March 1998", "DATE"), ("Angela Meyer", "PERSON"), ("Berlin", "GPE"), ("Paris", "GPE")} <= set(entities)
    assert {class_of(label) for _, label in entities} <= TAB | {"LAW"}
    assert found(Tagger((spacy_detector, GoldDetector(KNOWN))), "Ann Lee lives in Paris.")[-1] == ("Paris", "LOC")


def test_spacy_refuses_what_it_cannot_take(spacy_detector, monkeypatch):
    monkeypatch.setattr(spacy_detector._pipeline, "max_length", 20)
    with pytest.raises(InputError, match="Text 1 has 21 characters"):
        spacy_detector.detect(["short", "x" * 21])
    with pytest.raises(InputError, match="neither an installed package nor a folder"):
        registry.load("detector", "spacy").load({"model": "xx_no_such_model"})


# ---- Flair, which is not installed: its interface ------------------------------------------------------


class FakeSentence:
    """As Flair's: characters of no width vanish, and positions count in what is left."""

    def __init__(self, text):
        self.text = re.sub("[\u200b\u200c\ufe0f\ufeff\u2028\u2029]", "", text)
        self.seen = None

    def get_spans(self, kind):
        assert kind == "ner"
        label = SimpleNamespace(value="PERSON", score=1.0 - len(self.seen) / 10)
        return [
            SimpleNamespace(start_position=m.start(), end_position=m.end(), get_label=lambda kind: label)
            for m in re.finditer("Ann|Lee", self.text)
        ]


class FakeTagger:
    label_type = "ner"

    @classmethod
    def load(cls, name):
        if name == "absent":
            raise FileNotFoundError("/private/place")
        cls.name = name
        return cls()

    def predict(self, sentences, mini_batch_size):
        for each in sentences:
            each.seen = sentences  # the sentences of a call are context to each other


@pytest.fixture
def flair(monkeypatch):
    for name, content in {"flair": {}, "flair.data": {"Sentence": FakeSentence}, "flair.models": {}}.items():
        module = ModuleType(name)
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, module)
    sys.modules["flair.models"].__dict__["SequenceTagger"] = FakeTagger
    return registry.load("detector", "flair")


@unit
def test_flair_reads_each_text_alone_sentence_by_sentence(flair):
    texts = ["😀 \u200bAnn came. So did\u200c Lee.\nAnn left.", "Lee."]
    first, second = flair.load({}).detect(texts)
    assert FakeTagger.name == "flair/ner-english-ontonotes-large"
    assert [texts[0][d.start : d.end] for d in first] == ["Ann", "Lee", "Ann"]
    assert [d.score for d in first] == pytest.approx([0.7] * 3)  # three sentences, each in view of the others
    assert second == [(0, 3, "PERSON", 0.9)]
    assert flair.load({"threshold": 0.8}).detect(["", *texts]) == [[], [], second]


@unit
def test_flair_that_is_not_there_is_told_in_a_sentence(monkeypatch, flair):
    with pytest.raises(InputError, match=r"'absent' could not be loaded \(FileNotFoundError\)") as caught:
        flair.load({"model": "absent"})
    assert "private" not in str(caught.value)
    monkeypatch.setitem(sys.modules, "flair.data", None)
    with pytest.raises(InputError, match=r"needs the package .*flair.* pip install 'sm-ops\[flair\]'"):
        flair.load({})
