"""The published files themselves, read unchanged: counts only."""

from __future__ import annotations

import pytest

from sm_ops.data.audit import private_values
from sm_ops.data.labelled import Tally, open_corpus

FILES = {
    "creddata": ("creddata_subset/creddata_open.jsonl", 747, 20, 656),
    "credsweeper": ("credsweeper_samples/credsweeper_samples_open.jsonl", 74, 74, 332),
    "tab": ("tab_echr_144/tab_open.jsonl", 73, 73, 2376),
    "presidio": ("presidio_synthetic/presidio_open.jsonl", 1774, 161, 3472),
    "kiji": ("kiji_synthetic/kiji_open.jsonl", 374, 30, 1307),
    "panorama": ("panorama_posts/panorama_open.jsonl", 69, 69, 239),
    "klue": ("klue_ner_dev/klue_ner_open.jsonl", 2473, 2473, 7069),
}


@pytest.mark.parametrize("name", FILES)
def test_a_published_file_is_recognised_and_read_whole(name, shared):
    path, records, groups, targets = FILES[name]
    corpus = open_corpus("auto", str(shared / "data" / path), divisions=1)
    assert corpus.name == name
    tally = Tally()
    pool = list(tally.through([*corpus.folds[0].validation, *corpus.folds[0].application]))
    told = tally.told
    assert (told["records"], told["groups"], told["targets"]) == (records, groups, targets)
    assert not {r.group for r in corpus.folds[0].validation} & {r.group for r in corpus.folds[0].application}
    assert all(r.text for r in pool)


def test_creddata_counts_true_false_and_ambiguous_strings(shared):
    corpus = open_corpus("creddata", str(shared / "data" / FILES["creddata"][0]), divisions=3)
    for fold in corpus.folds:
        sides = [Tally(), Tally()]
        for tally, side in zip(sides, (fold.validation, fold.application), strict=True):
            list(tally.through(side))
        whole = {
            label: sum(own[label] for tally in sides for own in (tally.told["anchors"] or {}).values())
            for label in ("true", "false", "ambiguous")
        }
        assert whole == {"true": 656, "false": 814, "ambiguous": 184}


@pytest.mark.slow
def test_generated_programs_share_no_group_with_the_other_side_and_no_file_with_public_code():
    corpus = open_corpus("auto")
    (sides,) = corpus.folds
    application, public = list(sides.application), list(corpus.public)
    assert (corpus.name, len(sides.validation), len(application)) == ("code_pii", 90, 288)
    people = [{r.group for r in side if r.group} for side in (sides.validation, application)]
    assert (len(people[0]), len(people[1]), people[0] & people[1]) == (5, 6, set())
    hosts = {r.meta["host"] for r in [*sides.validation, *application]}
    assert not hosts & {r.meta["host"] for r in public}
    text = "\0".join(r.content for r in public)
    assert not any(value in text for value in private_values([*sides.validation, *application]))
