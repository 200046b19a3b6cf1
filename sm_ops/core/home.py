"""Where everything that is not code lives: the home folder and the runs in it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.store import Record

FORMAT = "run/1"
LINKS = "links.json"


def home_folder() -> Path:
    """`SM_OPS_HOME`, or `.sm-ops` in the present folder."""
    return Path(os.environ.get("SM_OPS_HOME") or ".sm-ops").absolute()


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, its resolved config, and its steps' fingerprints, times and numbers."""

    folder: Path
    name: str
    config: dict[str, Any]
    steps: dict[str, dict[str, Any]]
    finished: str

    @property
    def id(self) -> str:
        """Name of the run's folder: the pipeline's name and a hash of what the steps are."""
        return self.folder.name

    @property
    def flow(self) -> str:
        """Which pipeline it was; runs of earlier versions were all of the main job."""
        return self.config.get("flow", "surprise")

    def links(self) -> dict[str, Any]:
        """What belongs to the run elsewhere: `git` and `data` (commits, or None), `mlflow` (run ids by server)."""
        return _linked(fs.read_memory(self.folder / LINKS))

    def link(self, **links: Any) -> None:
        """Remember links; those of other names stay, and an MLflow run that of its server alone."""

        def joined(known: dict[str, Any]) -> dict[str, Any]:
            known = _linked(known)
            return {**known, **links, "mlflow": {**known["mlflow"], **links.get("mlflow", {})}}

        fs.change_memory(self.folder / LINKS, joined)

    @classmethod
    def save(cls, home: Path, config: dict[str, Any], records: dict[str, Record]) -> Run:
        """Write the run; equal results are the same run, whoever made them, and have the config of the last."""
        fingerprints = {name: record.fingerprint for name, record in records.items()}
        folder = home / "runs" / f"{config['name']}-{fs.sha256(fs.canonical_json(fingerprints))[:12]}"
        steps = {
            name: {"fingerprint": r.fingerprint, "seconds": r.seconds, "numbers": r.numbers, "stage": r.stage}
            for name, r in records.items()
        }
        finished = max(record.finished for record in records.values())
        run = cls(folder, config["name"], config, steps, finished)
        content = {"format": FORMAT, "name": run.name, "config": config, "steps": steps, "finished": finished}
        if fs.read_memory(folder / "run.json") != content:
            fs.write_json(folder / "run.json", content)
        os.utime(folder / "run.json")  # the newest run is the one that was asked for last
        return run

    @classmethod
    def load(cls, folder: Path) -> Run:
        """Read a run, or refuse a damaged one or another format version in words."""
        try:
            value = fs.read_json(folder / "run.json")
            if value["format"] == FORMAT:
                return cls(folder, value["name"], value["config"], value["steps"], value["finished"])
        except (ValueError, TypeError, KeyError):
            hint = f"{folder}/run.json is damaged; remove it and run the pipeline again, finished steps are found."
            raise InputError("run-damaged", hint) from None
        hint = f"{folder}/run.json has format {value['format']!r}, this version reads {FORMAT!r}."
        raise InputError("run-format", hint)


def all_runs(home: Path) -> list[Run]:
    """Finished runs that can be read, the newest last."""
    return [run for run in _looked_at(home).values() if isinstance(run, Run)]


def unreadable_runs(home: Path) -> dict[str, InputError]:
    """By id why runs cannot be read, the newest last."""
    return {name: run for name, run in _looked_at(home).items() if isinstance(run, InputError)}


def linked_run(home: Path, name: str) -> Run | None:
    """The newest run by its id, or by the id of what belongs to it: code, data, MLflow run; a beginning is enough.

    Raises `InputError` where the one that is meant cannot be read.
    """
    return _newest(home, lambda run: any(each.startswith(name) for each in _names(run)), name)


def find_run(home: Path, name: str | None = None) -> Run:
    """The newest run, or the newest whose id begins with `name`.

    Raises `InputError` where there is none, or it cannot be read.
    """
    run = _newest(home, lambda run: name is None or run.id.startswith(name), name or "")
    if run is None:
        wanted = f" named {name!r}" if name else ""
        advice = "see: sm-ops ls runs" if all_runs(home) else "make one with: sm-ops run"
        raise InputError("no-run", f"There is no finished run{wanted} under {home}; {advice}")
    return run


def _newest(home: Path, wanted: Callable[[Run], bool], name: str) -> Run | None:
    """One that can be read before one that cannot, unless `name` is the whole id of that."""
    found = _looked_at(home)
    runs = [run for run in found.values() if isinstance(run, Run) and wanted(run)]
    bad = [run for each, run in found.items() if isinstance(run, InputError) and each.startswith(name)]
    if bad and (not runs or isinstance(found.get(name), InputError)):
        raise bad[-1]
    return runs[-1] if runs else None


def _looked_at(home: Path) -> dict[str, Run | InputError]:
    files = sorted((home / "runs").glob("*/run.json"), key=lambda path: path.stat().st_mtime_ns)
    return {path.parent.name: _loaded(path.parent) for path in files}


def _loaded(folder: Path) -> Run | InputError:
    try:
        return Run.load(folder)
    except InputError as error:
        return error


def _names(run: Run) -> list[str]:
    links = run.links()
    return [run.id, *(links[name] for name in ("git", "data") if links[name]), *links["mlflow"].values()]


def _linked(known: dict[str, Any]) -> dict[str, Any]:
    return {"git": None, "data": None, "mlflow": {}} | known
