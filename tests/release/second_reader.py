"""Verify a release with Python and `cryptography` alone, by docs/release-format.md and nothing of sm-ops.

python second_reader.py FOLDER APPROVERS.yaml      exit code 0: approved, 4: not (or no more), 5: revoked or changed
"""

import base64
import hashlib
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MANIFEST, LOG, HEAD, TYPE = "manifest.json", "log.jsonl", "log.head.dsse.json", "application/vnd.in-toto+json"
DECIDED = (MANIFEST, "checks.json", "policy.yaml", "README.md", "report.html")


def need(*conditions):
    if not all(conditions):
        raise ValueError


def read(path):  # whatever goes wrong from here on is the fault of that file
    read.path = path
    need((read.folder / path).is_file(), not (read.folder / path).is_symlink())
    return (read.folder / path).open("rb")


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def sha(data):
    return hashlib.sha256(data).hexdigest()


def statement(path, kind, keys, subjects):  # what it says, and the ids of those of these keys that signed it
    data = read(path).read()
    signatures = {each["keyid"]: base64.b64decode(each["sig"]) for each in json.loads(data)["signatures"]}
    payload = base64.b64decode(json.loads(data)["payload"])
    told = [{"keyid": key, "sig": base64.b64encode(sig).decode()} for key, sig in sorted(signatures.items())]
    file = {"payload": base64.b64encode(payload).decode(), "payloadType": TYPE, "signatures": told}
    said = json.loads(payload)["predicate"]
    listed = [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(subjects.items())]
    form = {"_type": "https://in-toto.io/Statement/v1", "predicateType": f"urn:sm-ops:release:{kind}:v1"}
    need(data == canonical(file) + b"\n", payload == canonical(form | {"subject": listed, "predicate": said}))
    for key in keys.keys() & signatures.keys():
        signed = b"DSSEv1 %d %b %d %b" % (len(TYPE), TYPE.encode(), len(payload), payload)
        Ed25519PublicKey.from_public_bytes(keys[key]).verify(signatures[key], signed)
    return said, keys.keys() & signatures.keys()


def verify(approvers, now):  # whether it is approved and holds; raises anything where `read.path` was changed
    need(not (read.folder / "revocation.dsse.json").exists())
    data = read(MANIFEST).read()
    manifest = json.loads(data)
    builder = {manifest["builder"]["key"]: bytes.fromhex(manifest["builder"]["public"])}
    need(canonical(manifest) + b"\n" == data, [*builder] == [*map(sha, builder.values())])
    need(statement("manifest.dsse.json", "build", builder, {MANIFEST: sha(data)})[1])
    log, files = read(LOG).read().splitlines(keepends=True), {}
    lines = [json.loads(line) for line in log]
    for number, (line, entry, previous) in enumerate(zip(log, lines, ["0" * 64, *map(sha, log[:-1])], strict=True), 1):
        need(canonical(entry) + b"\n" == line, entry["previous"] == previous, entry["sequence"] == number)
        need(entry["release"] == manifest["release"])
        files |= entry["files"]
    head, by = statement(HEAD, "head", builder, {LOG: sha(log[-1])})
    need(by, head == {"sequence": len(log)})
    files |= {each["path"]: each["sha256"] for each in manifest["files"]} | {MANIFEST: sha(data)}
    files = {path: digest for path, digest in files.items() if digest}
    for path in read.folder.rglob("*"):
        read.path = path.relative_to(read.folder).as_posix()
        known = any(each.startswith(f"{read.path}/") for each in files)
        filled = path.is_dir() and not path.is_symlink() and (known or any(path.iterdir()))
        need(filled or read.path in (*files, LOG, HEAD))
    for path, digest in files.items():
        need(hashlib.file_digest(read(path), "sha256").hexdigest() == digest)

    def said(name, kind, keys, *subjects):
        return statement(f"{name}.dsse.json", kind, keys, {path: files[path] for path in subjects})

    if "decision.dsse.json" not in files:
        return False
    listed = approvers.partition("\nchanges:")[0].splitlines()
    people = [json.loads(line[2:]) for line in listed if line.startswith("- ")]
    people = {sha(bytes.fromhex(each["public"])): each for each in people}
    rule = {line.partition(": ")[0]: line.partition(": ")[2] for line in listed}
    keys = {key: bytes.fromhex(people[key]["public"]) for key in people}
    asked, by = said("decision", "decision", keys, *DECIDED)
    since = lines[max(number for number, entry in enumerate(lines) if entry["action"] == "request") :]
    moment = next((entry["time"] for entry in since if entry["action"] == "publish"), now)
    times = {entry["actor"]["key"]: entry["time"] for entry in reversed(since) if entry["action"] == "approve"}
    own, end = people.get(asked["requester"], {"name": None})["name"], asked["expires"]
    good = [people[key] for key in by & times.keys() if people[key]["added"] <= times[key] <= end]
    good = [person for person in good if person["name"] != own and moment < person.get("removed", "9")]
    count = max(int(rule["threshold"]), asked["approvals"]["count"])
    lacking = {*asked["approvals"]["roles"], *json.loads(rule["roles"])} - {
        role for one in good for role in one["roles"]
    }
    holds = asked["requester"] in by and len(good) >= count and not lacking
    checks = json.load(read("checks.json"))
    for check in (each["name"] for each in checks["checks"] if each["waived"]):
        by = said(f"waivers/{check}", "waiver", keys, MANIFEST)[1]
        holds = holds and any("privacy" in people[key]["roles"] for key in by)
    if "publication.dsse.json" in files:
        publication, by = said("publication", "publication", builder, MANIFEST, "decision.dsse.json")
        need(by, publication["log"] in [entry["previous"] for entry in lines if entry["action"] == "publish"])
        holds = holds and now <= publication["expires"]
    return holds and moment <= end and checks["verdict"] == "pass" and "rejection.dsse.json" not in files


if __name__ == "__main__":
    read.folder, read.path = Path(sys.argv[1]), "REVOKED"
    try:
        holds = verify(Path(sys.argv[2]).read_text(), datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    except Exception:
        sys.exit(print(read.path) or 5)
    sys.exit(0 if holds else 4)
