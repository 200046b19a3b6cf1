"""An export replaces what an export made, and leaves everything else alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.stage import Output
from sm_ops.core.store import Record, Store, Stored
from sm_ops.versioning.export import check, export

pytestmark = pytest.mark.unit

OUTPUTS = (Output("findings.json", "internal"), Output("model", "restricted"))


def exported(home: Path, outputs, text: str, out: Path) -> None:
    """A result is in a store, each output a file, but the model, a folder; then it is exported as a user would."""
    store, known = Store(home), {each.name: Stored(each.cls, "0" * 64, {}) for each in outputs}
    record = Record("audit", "audit", "f" * 64, {}, known, {}, 0, "")
    for name in record.outputs:
        path = store.output_path(record, name)
        fs.write_atomic(path / "weights" if name == "model" else path, text.encode())
    check("audit", outputs, out)
    export(store, "audit", record, out)


def files(folder: Path) -> dict[str, bytes]:
    return {name: path.read_bytes() for name, path in fs.files_below(folder)}


def test_an_export_takes_the_place_of_another(tmp_path):
    out = tmp_path / "out"
    more = (*OUTPUTS, Output("more.csv", "internal"))
    for outputs, text in ((OUTPUTS, "first"), (more, "second"), (OUTPUTS[:1], "third")):
        exported(tmp_path / text, outputs, text, out)
        found = files(out)
        kept = {name for name in found if not name.endswith((".sha256", "/metrics.json", "/record.json"))}
        places = {"model": "restricted/audit/model/weights"}
        assert kept == {places.get(each.name, f"audit/{each.name}") for each in outputs}
        assert {found[name] for name in kept} == {text.encode()}
        assert {name for name in found if name.endswith(".sha256")} == {"audit/model.sha256"} & {
            f"audit/{each.name}.sha256" for each in outputs
        }
    assert (out / "restricted").stat().st_mode & 0o777 == 0o700
    assert {path.name for path in out.iterdir()} == {"audit", "restricted"}


@pytest.mark.parametrize(
    "there", ["audit/notes.txt", "audit/metrics/mine", "restricted/audit/notes.txt", "audit", "restricted"]
)
def test_what_is_not_ours_is_refused_and_stays(there, tmp_path):
    fs.write_atomic(tmp_path / there, b"mine")
    if there.startswith("restricted/"):
        (tmp_path / "restricted").chmod(0o700)
    with pytest.raises(InputError, match="choose another place with --out"):
        check("audit", OUTPUTS, tmp_path)
    assert files(tmp_path) == {there: b"mine"}


def test_a_folder_of_others_keeps_its_mode(tmp_path):
    (tmp_path / "restricted").mkdir(mode=0o755)
    with pytest.raises(InputError, match="others may enter it"):
        check("audit", OUTPUTS, tmp_path)
    exported(tmp_path / "home", OUTPUTS[:1], "", tmp_path)
    assert (tmp_path / "restricted").stat().st_mode & 0o777 == 0o755


def test_a_link_is_never_followed(tmp_path):
    fs.write_atomic(tmp_path / "elsewhere" / "findings.json", b"mine")
    (tmp_path / "audit").symlink_to("elsewhere")
    with pytest.raises(InputError, match="choose another place"):
        check("audit", OUTPUTS, tmp_path)


def test_what_dvc_checked_out_is_replaced(tmp_path):
    """In a fresh clone the outputs lie there without our record, and DVC's file for git beside them."""
    fs.write_atomic(tmp_path / "audit" / "findings.json", b"older")
    fs.write_atomic(tmp_path / "audit" / ".gitignore", b"/findings.json\n")
    check("audit", OUTPUTS, tmp_path)
