"""What Presidio finds and misses in Korean, as measured with version 2.2 and en_core_web_sm, and what ours does there.

The cases document its behaviour: where a newer version finds more, the case fails and the guide is to be changed.
"""

from __future__ import annotations

import pytest

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.detectors.labels import type_of


def loaded(name, **settings):
    try:
        return registry.load("detector", name).load(settings)
    except InputError as error:
        if error.code not in ("missing-package", "no-spacy-model"):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def presidio():
    return loaded("presidio", threshold=0.0)


def found(detector, text):
    (detections,) = detector.detect([text])
    return {(type_of(each.label), text[each.start : each.end], each.score) for each in detections}


def has(detector, text, type_, value):
    return (type_, value) in {each[:2] for each in found(detector, text)}


PARTICLES = ["으로", "은", "이", "에게", "입니다"]


@pytest.mark.parametrize("particle", PARTICLES)
def test_presidio_misses_an_email_that_a_particle_follows(presidio, particle):
    text = f"메일은 ga.sang@example.com{particle} 보내 주세요"
    assert "EMAIL" not in {type_ for type_, _, _ in found(presidio, text)}
    assert has(loaded("regex"), text, "EMAIL", "ga.sang@example.com")


def test_presidio_finds_the_same_email_before_a_blank(presidio):
    assert has(presidio, "메일은 ga.sang@example.com 으로 보내 주세요", "EMAIL", "ga.sang@example.com")


def test_presidio_takes_the_word_before_an_email_for_a_part_of_it(presidio):
    text = "메일ga.sang@example.com 확인"
    assert has(presidio, text, "EMAIL", "메일ga.sang@example.com")
    assert has(loaded("regex"), text, "EMAIL", "ga.sang@example.com")


@pytest.mark.parametrize("domain", ["example.test", "mail.example", "none.invalid"])
def test_presidio_knows_no_reserved_domain(presidio, domain):
    """So a synthetic set must not use RFC 6761's names where Presidio is to be judged."""
    text = f"메일은 ga.sang@{domain} 입니다"
    assert not has(presidio, text, "EMAIL", f"ga.sang@{domain}")
    assert has(loaded("regex"), text, "EMAIL", f"ga.sang@{domain}")


@pytest.mark.parametrize("particle", PARTICLES)
@pytest.mark.parametrize("rrn", ["991231-3000001", "991231-4000001", "9912313000001", "991231-7000001"])
def test_presidio_is_half_sure_of_an_rrn_that_a_particle_follows(presidio, rrn, particle):
    """0.5 is what a shape alone is worth: a threshold above loses every RRN whose check digit is wrong or newer."""
    text = f"주민등록번호는 {rrn}{particle} 확인했습니다"
    assert [score for type_, value, score in found(presidio, text) if (type_, value) == ("RRN", rrn)] == [0.5]
    assert has(loaded("regex"), text, "RRN", rrn)


def test_without_its_korean_recognisers_presidio_misses_the_rrn_and_calls_it_a_date(presidio):
    analyzer = presidio._analyzer
    entities = [e for e in analyzer.get_supported_entities("en") if not e.startswith("KR_")]
    text = "주민등록번호는 991231-3000001은 확인했습니다"
    labels = {each.entity_type for each in analyzer.analyze(text, language="en", entities=entities)}
    assert "DATE_TIME" in labels
    assert not {type_of(label) for label in labels} & {"RRN"}


@pytest.mark.parametrize(
    ("text", "type_", "value"),
    [
        ("주민번호 ９９１２３１－３０００００１ 확인", "RRN", "９９１２３１－３０００００１"),
        ("주민번호 991231 - 3000001 확인", "RRN", "991231 - 3000001"),
        ("카드 4000-0000-0000-0001 결제", "CARD", "4000-0000-0000-0001"),  # no Luhn digit, as in the synthetic set
        ("가상은행 000-12-345678로 입금", "ACCOUNT", "000-12-345678"),
        ("생년월일: 1985년 3월 12일", "DOB", "1985년 3월 12일"),
        ("성명: 김가상", "PERSON", "김가상"),
    ],
)
def test_presidio_misses_other_korean_forms_that_a_pattern_finds(presidio, text, type_, value):
    assert not has(presidio, text, type_, value)
    assert has(loaded("regex"), text, type_, value)


def test_presidio_takes_korean_words_for_names(presidio):
    """en_core_web_sm never saw Korean: on it PERSON says little."""
    assert ("PERSON", "어머니가 시누이와") in {each[:2] for each in found(presidio, "어머니가 시누이와 이모티콘")}


@pytest.mark.parametrize("text", ["제 번호는 010-0000-1234입니다", "010 0000 1234로 연락", "01000001234"])
def test_korean_mobile_numbers_are_found_since_korea_is_among_the_regions(presidio, text):
    assert "PHONE" in {type_ for type_, _, _ in found(presidio, text)}


def test_addresses_are_judged_without_the_list_that_is_on_the_network(presidio, monkeypatch):
    asked = []
    monkeypatch.setattr("tldextract.tldextract.TLD_EXTRACTOR", lambda *given, **_: asked.append(given))
    labels = {each.label for each in presidio.detect(["ann@example.com and https://example.org/x"])[0]}
    assert {"EMAIL_ADDRESS", "URL"} <= labels
    assert asked == []


def test_presidio_finds_what_it_is_made_for(presidio):
    text = "Ann Lee, card 4111 1111 1111 1111, call (212) 555-0123 or ann@example.com."
    types = {each[:2] for each in found(presidio, text)}
    assert {("PERSON", "Ann Lee"), ("CARD", "4111 1111 1111 1111"), ("EMAIL", "ann@example.com"),
            ("PHONE", "(212) 555-0123")} <= types  # fmt: skip


@pytest.mark.parametrize("model", ["en_core_web_none", "ko_core_news_sm"])
def test_a_model_that_is_not_there_is_refused_and_never_fetched(model):
    loaded("presidio")
    with pytest.raises(InputError, match=f"{model}.*neither an installed package nor a folder"):
        registry.load("detector", "presidio").load({"model": model})


def test_a_text_beyond_spacys_limit_is_refused_by_its_index(presidio, monkeypatch):
    monkeypatch.setattr(presidio._analyzer.nlp_engine.nlp["en"], "max_length", 20)
    with pytest.raises(InputError, match="Text 1 has 21 characters, spaCy takes 20"):
        presidio.detect(["a" * 20, "b" * 21])
