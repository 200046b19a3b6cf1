"""A published release is verified over https with the standard library; a server that misbehaves is told in words."""

from __future__ import annotations

import shutil

import made_release as made
import pytest
import web_server
from calling import Called, call_cli

from sm_ops.release import approvers, reading


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a published release, its approvers, and a certificate."""
    home = tmp_path_factory.mktemp("published") / "home"
    release = made.make_bundle(home)
    made.add_checks(release)
    made.request(release)
    made.approve(release, "ben", "cleo")
    made.add_publication(release)
    folder = home.parent / "place"
    shutil.copytree(release.folder, folder / str(release))
    shutil.copy(approvers.path_of(home), folder / "approvers.yaml")
    web_server.make_certificate(home.parent / "certificate.pem")
    return folder


@pytest.fixture
def server(place, monkeypatch):
    certificate = place.parent / "certificate.pem"
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with web_server.serving(place, certificate) as running:
        yield running


@pytest.fixture
def verify(server, place, monkeypatch, capsys):
    """Verify what the server serves."""

    def call(url: str | None = None, *options: str) -> Called:
        trusted = ("--approvers", str(place / "approvers.yaml"))
        return call_cli(monkeypatch, capsys, "release", "verify", url or f"{server.url}/notes@1", *(options or trusted))

    return call


def test_a_published_release_is_verified_over_https(verify, server):
    done = verify()
    assert done.returncode == 0, done.stderr
    assert "approved by  ben, cleo" in done.stdout
    assert f"/notes@1/{'data/train.jsonl'}" in server.asked
    assert all(not path.endswith("/") for path in server.asked), "nothing was listed"
    assert verify(f"{server.url}/notes@1/").returncode == 0


def test_what_the_server_lists_beside_it_counts(verify, server):
    server.answers["/index.json"] = lambda handler, _: web_server.plain(handler, b"{}")
    done = verify()
    assert done.returncode == 5
    assert "index.json" in done.stderr


@pytest.mark.parametrize("file", ["data/train.jsonl", "log.jsonl", "decision.dsse.json"])
def test_a_changed_or_missing_file(verify, server, file):
    server.answers[f"/{file}"] = lambda handler, data: web_server.plain(handler, data[:-2] + b"x" + data[-1:])
    changed = verify()
    assert (changed.returncode, file in changed.stderr) == (5, True)
    server.answers[f"/{file}"] = web_server.status(404)
    missing = verify()
    assert missing.returncode == 5
    assert f"{file} is missing" in missing.stderr


@pytest.mark.parametrize("code", [301, 302, 307, 308])
def test_no_redirect_to_another_place_is_followed(verify, server, code):
    server.answers["/manifest.json"] = web_server.status(code, Location="https://other.example/manifest.json")
    done = verify()
    assert done.returncode == 2
    assert "sends manifest.json from another place" in done.stderr
    server.answers["/manifest.json"] = web_server.status(code, Location="file:///etc/hostname")
    assert verify().returncode == 2


def test_a_redirect_within_the_same_server_is_followed(verify, server, place):
    server.answers["/train.jsonl"] = web_server.status(302, Location=f"{server.url}/moved")
    server.answers["/moved"] = lambda handler, _: web_server.plain(
        handler, (place / "notes@1" / "data" / "train.jsonl").read_bytes()
    )
    assert verify().returncode == 0


@pytest.mark.parametrize("file", ["manifest.json", "data/train.jsonl"])
def test_a_connection_that_ends_early(verify, server, file):
    server.answers[f"/{file}"] = web_server.cut
    done = verify()
    assert done.returncode == 2
    assert f"ended {file} too early; try again" in done.stderr


@pytest.mark.parametrize("answer", [web_server.longer, web_server.endless])
def test_more_data_than_was_signed(verify, server, answer):
    server.answers["/train.jsonl"] = answer
    done = verify()
    assert done.returncode == 5
    assert "data/train.jsonl does not have the 147 bytes that were signed" in done.stderr


@pytest.mark.parametrize("file", ["manifest.json", "log.jsonl", "revocation.dsse.json", "README.md"])
def test_a_small_file_without_end(verify, server, file, monkeypatch):
    monkeypatch.setattr(reading, "SMALL", 1 << 20)
    server.answers[f"/{file}"] = web_server.endless
    done = verify()
    assert done.returncode == 5
    assert f"{file} is larger than 1 MiB" in done.stderr


@pytest.mark.parametrize(("answer", "said"), [(web_server.status(500), "answered 500"), (web_server.packed, "encoded")])
def test_other_answers(verify, server, answer, said):
    server.answers["/train.jsonl"] = answer
    done = verify()
    assert done.returncode == 2
    assert said in done.stderr


def test_a_silent_server(verify, server, monkeypatch):
    monkeypatch.setattr(reading, "TIMEOUT", 0.2)
    server.answers["/log.jsonl"] = web_server.silent
    done = verify()
    assert done.returncode == 2
    assert "was silent for" in done.stderr
    assert "log.jsonl" in done.stderr


def test_a_certificate_that_nobody_trusts(verify, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE")
    done = verify()
    assert done.returncode == 2
    assert "certificate that is not trusted" in done.stderr


def test_nobody_is_there(verify):
    assert verify("https://127.0.0.1:9/notes@1").returncode == 2


def test_there_is_no_release(verify, server):
    done = verify(f"{server.url}/other@1")
    assert done.returncode == 2
    assert f"no release at {server.url}/other@1" in done.stderr


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://data.example.org/notes@1", "over https only"),
        ("s3://bucket/notes@1", "sm-ops release fetch"),
        ("file:///etc", "over https only"),
        ("https://ada:words@data.example.org/notes@1", "without user"),
        ("https://data.example.org/notes@1?version=2", "without user, query or fragment"),
        ("https://data.example.org:port/notes@1", "no URL"),
    ],
)
def test_urls_that_are_refused(verify, url, said):
    done = verify(url)
    assert done.returncode == 2
    assert said in done.stderr
    assert "words" not in done.stderr


def test_plain_http_from_this_machine_itself(place, monkeypatch, capsys):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with web_server.serving(place) as server:
        done = call_cli(monkeypatch, capsys, "release", "verify", f"{server.url}/notes@1")
    assert done.returncode == 4
    assert "without a list of approvers" in done.stderr
