"""Requests to the coordinator."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

LOCAL_URL = "http://127.0.0.1:8787"
REQUEST_SECONDS = 40.0
CLAIM_WAIT_SECONDS = 25
AWAY_SECONDS = 600.0
BYTES_LIKE = (bytes, bytearray, memoryview)


class Problem(Exception):
    """What the coordinator refused, by its stable `code`; `unreachable` where there was no answer (status 0)."""

    def __init__(self, code: str, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.status = status

    @property
    def is_temporary(self) -> bool:
        # 507: it is full until somebody makes room.
        return self.status in (0, 408, 429) or (self.status >= 500 and self.status != 507)

    @property
    def is_never_reached(self) -> bool:
        """No connection was made: the coordinator has nothing of the request."""
        return isinstance(getattr(self.__cause__, "reason", None), ConnectionRefusedError)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The key is sent to no other address."""

    def redirect_request(self, *args: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects())


class Api:
    def __init__(self, url: str | None = None, key: str | None = None) -> None:
        # As it is copied from a browser, it has the dashboard's page behind it.
        self.url = re.split("[?#]", url or os.environ.get("SERVICE_API_URL") or LOCAL_URL)[0].strip().rstrip("/")
        self.key = key or os.environ.get("SERVICE_API_KEY") or ""
        if not self.url.startswith(("http://", "https://")):
            raise ValueError(f"{self.url} is not an address: it must start with http:// or https://")
        if not re.fullmatch(r"[\x21-\x7e]+", self.key):
            raise ValueError("no key: give one, or set SERVICE_API_KEY")

    def open(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] = {},
        timeout: float = REQUEST_SECONDS,
    ) -> Any:
        """The open answer. `body` is JSON unless it is bytes or a file."""
        sent = {"Authorization": f"Bearer {self.key}", **headers}
        if body is not None and not isinstance(body, bytes) and not hasattr(body, "read"):
            body = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        request = urllib.request.Request(self.url + path, data=body, headers=sent, method=method)
        try:
            return _opener.open(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            raise _problem_of(error) from None
        except (OSError, http.client.HTTPException) as error:
            raise Problem("unreachable", f"{self.url} does not answer: {getattr(error, 'reason', error)}") from error

    def link(self, url: str) -> str:
        """A link has the address that its client called, which may be any: from here only its path is taken."""
        _, _, path, query, _ = urllib.parse.urlsplit(url)
        return self.url + path + (f"?{query}" if query else "")

    def call(self, method: str, path: str, body: Any = None, needs: Sequence[str] = (), **options: Any) -> Any:
        """The answer, which has the fields that it needs: what lies between may answer anything with 200."""
        with self.open(method, path, body, **options) as answer:
            try:
                text = answer.read()
                told = json.loads(text) if text else None
                if needs and not (isinstance(told, dict) and set(needs) <= set(told)):
                    raise ValueError("fields are missing")
                return told
            except (OSError, http.client.HTTPException) as error:
                raise Problem("unreachable", f"the answer broke off: {error}") from error
            except ValueError as error:
                raise Problem("unexpected_answer", f"{self.url}{path} did not answer as a coordinator does", 502) from error

    def insist(self, method: str, path: str, body: Any = None, tries: int = 3, **options: Any) -> Any:
        """The same, again after a failure that may pass."""
        for attempt in range(tries):
            try:
                return self.call(method, path, body, **options)
            except Problem as problem:
                if not problem.is_temporary or attempt == tries - 1:
                    raise
                time.sleep(backoff(attempt))


def _problem_of(error: urllib.error.HTTPError) -> Problem:
    with error:
        try:
            told = json.loads(error.read())
        except (OSError, ValueError, http.client.HTTPException):
            told = {}
    told = told if isinstance(told, dict) else {}
    if 300 <= error.code < 400:
        where = error.headers.get("Location") or "another address"
        return Problem("redirected", f"the address redirects to {where}: use that address", error.code)
    code = told.get("code") or "unexpected_answer"
    return Problem(code, told.get("detail") or told.get("title") or f"HTTP {error.code}", error.code)


def backoff(failures: int) -> float:
    return random.uniform(0.1, min(30.0, 0.5 * 2 ** min(failures, 8)))


def while_away(look: Callable[[], Any]) -> Any:
    """Repeats a look at a service that is away for a moment, as for an upgrade. It must change nothing."""
    since = time.monotonic()
    while True:
        try:
            return look()
        except Problem as problem:
            if not problem.is_temporary or time.monotonic() - since > AWAY_SECONDS:
                raise
            time.sleep(random.uniform(1.0, 3.0))


def until_reached(send: Callable[[], dict[str, Any]], is_over: Callable[[], bool]) -> dict[str, Any]:
    """Sends again for some minutes what may not be sent twice, as long as nothing answers at the address."""
    for failures in range(20):
        try:
            return send()
        except Problem as problem:
            if not problem.is_never_reached or is_over():
                raise
            time.sleep(backoff(failures))
    return send()


def fresh_key() -> str:
    """Later keys sort behind earlier ones, so that the service finds and adds them near each other."""
    return f"{int(time.time() * 1000):012x}-{uuid.uuid4()}"


def path_with(path: str, **fields: Any) -> str:
    told = {name: value for name, value in fields.items() if value is not None}
    return f"{path}?{urllib.parse.urlencode(told)}" if told else path


def send_file(
    api: Api, target: str, content: bytes | str, content_type: str = "application/octet-stream"
) -> dict[str, Any]:
    headers = {"Content-Type": content_type}
    if isinstance(content, bytes):
        kept: dict[str, Any] = api.call("POST", target, content, headers=headers, timeout=600)
        return kept
    with open(content, "rb") as file:
        headers["Content-Length"] = str(os.fstat(file.fileno()).st_size)
        kept = api.call("POST", target, file, headers=headers, timeout=600)
        return kept
