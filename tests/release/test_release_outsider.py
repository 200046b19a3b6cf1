"""Every way to change a released file is noticed, by sm-ops and by a second implementation that shares nothing with it.

Approved and unapproved bundles; every file; flipped bits, other spellings of the same JSON or base64, other kinds of
file. Both say exit code 5 and name the file.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import made_release as made
import pytest
import second_reader
from tampering import REPLACEMENTS, flips, rewrites

from sm_ops.core.errors import IntegrityError
from sm_ops.release import approvers, clock, verification
from sm_ops.release.approvers import Approvers
from sm_ops.release.reading import FolderReader

SOURCE = Path(second_reader.__file__)
PAIRED = {"log.jsonl": "log.head.dsse.json", "manifest.json": "manifest.dsse.json"}
"""What a file is signed by: the outsider tells no more than that the two do not fit."""


@dataclass(frozen=True)
class Bundle:
    """A bundle that both verify, and who may approve it."""

    folder: Path
    approvers: Path
    trusted: Approvers

    @property
    def files(self) -> list[str]:
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file())

    def ours(self) -> tuple[int, str]:
        """Exit code and what was named, by sm-ops."""
        try:
            verdict = verification.verify(FolderReader(self.folder), self.trusted)
        except IntegrityError as error:
            return error.exit_code, error.hint
        return (4 if verdict.missing else 0), ""

    def theirs(self) -> tuple[int, str]:
        """The same, by the outsider."""
        second_reader.read.folder, second_reader.read.path = self.folder, "REVOKED"
        try:
            holds = second_reader.verify(self.approvers.read_text(), clock.told(clock.now()))
        except Exception:
            return 5, second_reader.read.path
        return (0 if holds else 4), ""


@pytest.fixture(scope="module")
def bundles(tmp_path_factory) -> dict[str, Bundle]:
    """A published release with a waived check, and one that nobody has approved yet."""
    home = tmp_path_factory.mktemp("tampered") / "home"
    published = made.make_bundle(home)
    made.add_checks(published, waived={"licence": "the owner has agreed"})
    made.request(published)
    made.approve(published, "ben", "cleo")
    made.add_publication(published)
    requested = made.make_bundle(home, version="2")
    made.add_checks(requested)
    made.request(requested)
    path = approvers.path_of(home)
    trusted = approvers.load(path)
    return {
        "published": Bundle(published.folder, path, trusted),
        "requested": Bundle(requested.folder, path, trusted),
    }


KINDS = pytest.mark.parametrize("kind", ["published", "requested"])


@pytest.mark.unit
def test_both_agree_on_what_nobody_has_changed(bundles):
    assert [bundles["published"].ours(), bundles["published"].theirs()] == [(0, ""), (0, "")]
    assert [bundles["requested"].ours(), bundles["requested"].theirs()] == [(4, ""), (4, "")]


def test_the_second_implementation_is_small_and_shares_nothing():
    source = SOURCE.read_text()
    assert len([line for line in source.splitlines() if line.strip()]) < 100
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names])
    }
    assert imported - set(sys.stdlib_module_names) == {"cryptography"}


def test_the_second_implementation_is_a_program(bundles, tmp_path):
    bundle = bundles["published"]
    copy = shutil.copytree(bundle.folder, tmp_path / "copy")
    command = [sys.executable, "-I", str(SOURCE), str(copy), str(bundle.approvers)]
    assert subprocess.run(command, check=False).returncode == 0
    (copy / "README.md").write_text("# Other\n")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (5, "README.md\n")


@pytest.mark.unit
@KINDS
def test_flipped_bits(bundles, kind):
    bundle = bundles[kind]
    for file in bundle.files:
        _try(bundle, file, flips((bundle.folder / file).read_bytes(), step=61))


@KINDS
def test_other_spellings(bundles, kind):
    bundle = bundles[kind]
    for file in bundle.files:
        _try(bundle, file, rewrites((bundle.folder / file).read_bytes()))


@KINDS
def test_other_kinds_of_file(bundles, kind, tmp_path):
    for file in bundles[kind].files:
        for what, replace in REPLACEMENTS.items():
            copy = Bundle(tmp_path / "copy", bundles[kind].approvers, bundles[kind].trusted)
            shutil.copytree(bundles[kind].folder, copy.folder)
            replace(copy.folder / file)
            _noticed(copy, file, what)
            shutil.rmtree(copy.folder)


@KINDS
def test_files_of_another_release(bundles, kind):
    bundle, other = bundles[kind], bundles["requested" if kind == "published" else "published"]
    for file in sorted({*bundle.files} & {*other.files}):
        changed = (other.folder / file).read_bytes()
        if changed != (bundle.folder / file).read_bytes():
            _try(bundle, file, iter([("of another release", changed)]))


@KINDS
def test_one_folder_more(bundles, kind):
    """Though it is empty: its name can say something."""
    path = bundles[kind].folder / "data" / "a b"
    path.mkdir()
    try:
        _noticed(bundles[kind], "data/a b", "added")
    finally:
        path.rmdir()


@KINDS
@pytest.mark.parametrize("added", ["data/more.jsonl", ".hidden", "waivers/k.dsse.json", "evidence/a b.json", "x\ny"])
def test_one_file_more(bundles, kind, added):
    bundle = bundles[kind]
    path = bundle.folder / added
    fresh = not path.parent.exists()
    path.parent.mkdir(exist_ok=True)
    path.write_text("{}\n")
    try:
        _noticed(bundle, added if added.isprintable() else ascii(added), "added", theirs=added)
    finally:
        shutil.rmtree(path.parent) if fresh else path.unlink()


@pytest.mark.slow
@KINDS
def test_every_bit_of_every_statement_and_of_every_small_file(bundles, kind):
    bundle = bundles[kind]
    for file in bundle.files:
        bits = 8 if file.endswith((".dsse.json", ".jsonl", "manifest.json")) else 1
        _try(bundle, file, flips((bundle.folder / file).read_bytes(), bits=bits))


def _try(bundle: Bundle, file: str, changes: Iterator[tuple[str, bytes]]) -> None:
    path = bundle.folder / file
    before = path.read_bytes()
    try:
        for what, changed in changes:
            path.write_bytes(changed)
            _noticed(bundle, file, what)
    finally:
        path.write_bytes(before)


def _noticed(bundle: Bundle, file: str, what: str, theirs: str | None = None) -> None:
    (code, hint), (other_code, named) = bundle.ours(), bundle.theirs()
    assert code == 5, f"{file}, {what}: sm-ops says {code}"
    assert file in hint, f"{file}, {what}: {hint}"
    assert other_code == 5, f"{file}, {what}: the outsider says {other_code}"
    assert named in (theirs or file, PAIRED.get(file)), f"{file}, {what}: the outsider names {named}"
