"""Enron: a folder of mailboxes, each file below one of them a mail (RFC 5322), as the Enron corpus is published.

Only the bodies are taken: the parts that are plain text and no attachments, in their order, with what they quote (a
quoted name was sent, too). Headers of the mail itself are left out. A record's id numbers mailbox and mail, because
ids are shown in results and folders are named after people; the file stands in `meta.file`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.data.corpora._reading import Reading, place, with_defaults

_FIELDS = ("From", "Date", "Message-ID", "To", "Subject")


def read(path: str | Path | None, settings: Mapping[str, Any] = {}) -> Reading:
    """One record a mail, its group the mailbox's folder; it has no settings.

    Left out and counted are files that are no mail (`broken`) and mails without a word of plain text (`no text`).
    Raises `InputError` where the folder holds no mailbox.
    """
    with_defaults("enron", settings, {})
    root = place("enron", path)
    if (root / "maildir").is_dir():  # as it is unpacked
        root /= "maildir"
    mailboxes = sorted(each for each in root.iterdir() if each.is_dir()) if root.is_dir() else []
    if not mailboxes:
        raise InputError("no-mailboxes", f"{root} holds no folder; name the one that holds a folder for each mailbox.")
    skipped: Counter[str] = Counter()
    return Reading(_records(root, mailboxes, skipped), skipped)


def _records(root: Path, mailboxes: list[Path], skipped: Counter[str]) -> Iterator[Record]:
    for number, mailbox in enumerate(mailboxes, start=1):
        files = sorted(each for each in mailbox.rglob("*") if each.is_file())
        for own, file in enumerate(files, start=1):
            mail = message_from_bytes(file.read_bytes())
            text = _body(mail)
            if not any(field in mail for field in _FIELDS):
                skipped["broken"] += 1
            elif not text.strip():
                skipped["no text"] += 1
            else:
                meta = {"file": file.relative_to(root).as_posix()}
                yield Record(f"mail-{number:03}-{own:05}", text=text, group=mailbox.name, meta=meta)


def _body(mail: Message) -> str:
    parts = (part for part in mail.walk() if part.get_content_type() == "text/plain" and not _attached(part))
    return "\n".join(map(_decoded, parts)).replace("\r\n", "\n")


def _attached(part: Message) -> bool:
    return part.get_content_disposition() == "attachment" or part.get_filename() is not None


def _decoded(part: Message) -> str:
    """The text in its own charset, else in UTF-8, else in one that has a character for every byte."""
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    for charset in (part.get_content_charset("utf-8"), "utf-8"):
        try:
            text = data.decode(charset)
            text.encode()
        except (LookupError, ValueError):  # an unknown charset, bytes that it has not, half surrogate pairs
            continue
        return text
    return data.decode("latin-1")
