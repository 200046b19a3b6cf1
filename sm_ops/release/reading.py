"""The files of a bundle, from a folder or from a web server that knows no more than to send files.

A reader opens regular files alone: no link, no pipe, no device. It reads small files whole, up to a size that none of
them reaches, and of the others the SHA-256 and the size. From the web it takes https only (http from this machine
itself), follows no redirect to another place, and gives up on a server that is silent for half a minute.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from sm_ops.core.errors import InputError, IntegrityError
from sm_ops.release.folder import files_of

if TYPE_CHECKING:
    import http.client
    import urllib.error
    import urllib.request

SMALL = 64 << 20
"""Bytes that no manifest, log, statement or list of checks reaches."""
TIMEOUT = 30.0
"""Seconds that a web server may be silent."""
_CHUNK = 1 << 20
_ABSENT = (403, 404, 410)
"""What servers answer for a file that is not there (S3: 403 to those who may not list)."""


class Reader(Protocol):
    """How a bundle is read. `where` names it in messages, `name` is its folder's name."""

    where: str
    name: str

    def read(self, path: str) -> bytes | None:
        """A small file whole, None where there is none. Raises `IntegrityError` for a large one or for none at all."""
        ...

    def digest(self, path: str, size: int | None = None) -> str | None:
        """SHA-256 of a file, None where there is none.

        Raises `IntegrityError` when it is not of that size, or larger than a small file where none is given.
        """
        ...

    def names(self) -> set[str] | None:
        """Every file there is, links too, and empty folders (ending with `/`); None where nobody can list them."""
        ...

    def beside(self, path: str) -> bytes | None:
        """A small file beside the bundle's folder, None where there is none."""
        ...


def reader_of(place: str) -> Reader:
    """A reader of a folder or an https URL. Raises `InputError` where there cannot be a bundle."""
    return WebReader(place) if "://" in place else FolderReader(Path(place))


class FolderReader:
    """A bundle that is a folder."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise InputError("no-release", f"There is no folder {folder}; see: sm-ops release ls")
        self._folder = folder.resolve()
        self.where = str(folder)
        self.name = self._folder.name

    def read(self, path: str) -> bytes | None:
        """A small file whole."""
        return self._read(self._folder / path, path)

    def digest(self, path: str, size: int | None = None) -> str | None:
        """SHA-256 of a file of that size."""
        with _opened(self._folder / path, path) as file:
            return _digest(file.read, path, size) if file else None

    def names(self) -> set[str]:
        """Every file, link, pipe, empty folder."""
        return set(files_of(self._folder))

    def beside(self, path: str) -> bytes | None:
        """A small file of the folder above."""
        return self._read(self._folder.parent / path, path)

    def _read(self, file: Path, path: str) -> bytes | None:
        with _opened(file, path) as opened:
            return _whole(opened.read, path) if opened else None


@contextmanager
def _opened(file: Path, path: str) -> Iterator[BinaryIO | None]:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        yield None
        return
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):
            raise
        raise _no_file(path) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _no_file(path)
    with os.fdopen(descriptor, "rb", buffering=0) as stream:
        yield stream  # type: ignore[misc]


def _no_file(path: str) -> IntegrityError:
    return IntegrityError("no-regular-file", f"{path} is a link or no file at all; a release has files only.")


def _whole(read: Callable[[int], bytes], path: str) -> bytes:
    found = bytearray()
    while chunk := read(_CHUNK):
        found += chunk
        if len(found) > SMALL:
            raise _too_large(path)
    return bytes(found)


def _digest(read: Callable[[int], bytes], path: str, size: int | None) -> str:
    digest, seen = hashlib.sha256(), 0
    while chunk := read(_CHUNK):
        digest.update(chunk)
        seen += len(chunk)
        if size is None and seen > SMALL:
            raise _too_large(path)
        if size is not None and seen > size:
            break
    if size not in (None, seen):
        raise _other_size(path, size)
    return digest.hexdigest()


def _too_large(path: str) -> IntegrityError:
    return IntegrityError("too-large", f"{path} is larger than {SMALL >> 20} MiB, as no such file is; it was changed.")


def _other_size(path: str, size: int) -> IntegrityError:
    return IntegrityError("other-size", f"{path} does not have the {size} bytes that were signed; it was changed.")


class WebReader:
    """A bundle below an https URL."""

    def __init__(self, url: str) -> None:
        from urllib.parse import unquote, urlsplit

        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise InputError("url", "This is no URL; give https://HOST/PATH/NAME@VERSION") from None
        local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        if parts.scheme != "https" and not (parts.scheme == "http" and local):
            raise InputError("url", "A release is read over https only; from S3 fetch it: sm-ops release fetch")
        if not parts.hostname or parts.query or parts.fragment or "@" in parts.netloc:
            hint = "The URL of a release is https://HOST/PATH/NAME@VERSION, without user, query or fragment."
            raise InputError("url", hint)
        self._origin = (parts.scheme, parts.hostname, port)
        self._path = unquote(parts.path).rstrip("/")
        self._base = f"{parts.scheme}://{parts.netloc}"
        self.where = url.rstrip("/")
        self.name = self._path.rpartition("/")[2]
        self._direct = local

    def read(self, path: str) -> bytes | None:
        """A small file whole."""
        return self._read(f"{self._path}/{path}", path)

    def digest(self, path: str, size: int | None = None) -> str | None:
        """SHA-256 of a file of that size."""
        with self._opened(f"{self._path}/{path}", path) as response:
            if response is None:
                return None
            if size is not None and response.length not in (None, size):
                raise _other_size(path, size)
            return _digest(self._reading(response, path), path, size)

    def names(self) -> None:
        """No server has to list what it has: manifest and log say it."""

    def beside(self, path: str) -> bytes | None:
        """A small file beside the bundle."""
        return self._read(f"{self._path.rpartition('/')[0]}/{path}", path)

    def _read(self, place: str, path: str) -> bytes | None:
        with self._opened(place, path) as response:
            if response is None:
                return None
            if response.length is not None and response.length > SMALL:
                raise _too_large(path)
            return _whole(self._reading(response, path), path)

    @contextmanager
    def _opened(self, place: str, path: str) -> Iterator[http.client.HTTPResponse | None]:
        import http.client
        import urllib.error
        import urllib.request
        from urllib.parse import quote

        proxies = [urllib.request.ProxyHandler({})] if self._direct else []
        opener = urllib.request.build_opener(_redirects(self._origin), *proxies)
        request = urllib.request.Request(self._base + quote(place), headers={"Accept-Encoding": "identity"})
        try:
            response = opener.open(request, timeout=TIMEOUT)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in _ABSENT:
                yield None
                return
            raise self._answer(error, path) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._unread(error, path) from None
        with response:
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise InputError("web-answer", f"{self.where} sends {path} encoded, although it was not asked to.")
            yield response

    def _reading(self, response: http.client.HTTPResponse, path: str) -> Callable[[int], bytes]:
        import http.client

        left = response.length

        def read(count: int) -> bytes:
            nonlocal left
            try:
                chunk = response.read(count)
            except (OSError, http.client.HTTPException) as error:
                raise self._unread(error, path) from None
            if left is not None:
                left -= len(chunk)
                if not chunk and left:
                    raise InputError("web-cut", f"{self.where} ended {path} too early; try again.")
            return chunk

        return read

    def _answer(self, error: urllib.error.HTTPError, path: str) -> InputError:
        if 300 <= error.code < 400:
            return InputError("web-redirect", f"{self.where} sends {path} from another place; give that place's URL.")
        return InputError("web-answer", f"{self.where} answered {error.code} for {path}; try again later.")

    def _unread(self, error: Exception, path: str) -> InputError:
        reason = getattr(error, "reason", error)
        if isinstance(error, TimeoutError) or isinstance(reason, TimeoutError):
            said = f"was silent for {TIMEOUT:.0f} s"
        elif "CERTIFICATE_VERIFY_FAILED" in str(reason):
            said = "shows a certificate that is not trusted here (a private one: SSL_CERT_FILE)"
        else:
            said = f"could not be read ({type(reason).__name__})"
        return InputError("web-unread", f"{self.where} {said}, at {path}.")


def _redirects(origin: tuple[str, str, int | None]) -> urllib.request.BaseHandler:
    """Follows redirects to other paths of the same origin alone."""
    import urllib.request
    from urllib.parse import urlsplit

    class Redirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, req, fp, code, msg, headers, newurl):
            parts = urlsplit(newurl)
            if (parts.scheme, parts.hostname, parts.port) != origin:
                return None  # and so an HTTPError of that code
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    return Redirects()
