"""A job at work: its lease, its heartbeats, its stream, its report."""

from __future__ import annotations

import base64
import http.client
import json
import select
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

from ._answers import NAMED_EVENTS, Event
from ._context import Cancelled, Context, Fail, Job, Retry
from ._log import log
from ._outcome import MAX_MESSAGE, json_of
from ._requests import Api, Problem, backoff, path_with, send_file, until_reached

REPORTED_BYTES = 1024 * 1024  # A larger result is stored first, and the report names it.


class Run(Context):
    """A leased job. Its lease decides: once that is lost, nothing that the handler does counts."""

    def __init__(self, job: Job, api: Api, changed: Callable[[], None]) -> None:
        super().__init__(job)
        self._api, self._changed = api, changed
        self._stream: Stream | None = None
        self._stream_lock = threading.Lock()
        self.beat_at = time.monotonic()
        self.told: dict[str, Any] | None = None
        self.is_reader_gone = False
        self.is_reporting = False
        self.path = f"/api/jobs/{job['id']}"
        self.lease = {"lease": job["lease"]}

    def cancel(self, why: str) -> None:
        if not self._cancelled.is_set():
            log.info("job %s stopped: %s", self._job["id"], why)
        self._cancelled.set()

    def progress(self, share: float, message: str | None = None) -> None:
        super().progress(share, message)
        self._changed()

    def heartbeat(self) -> None:
        self.beat_at, self.told = time.monotonic(), self._progress
        told = {} if self.told is None else {"progress": self.told}
        try:
            self._api.call("POST", f"{self.path}/heartbeat", {**self.lease, **told}, timeout=10)
        except Problem as problem:
            # One that came after the report of the job's end is refused, too.
            if problem.status in (404, 409) and not self.is_reporting:
                self.cancel(str(problem))

    def report(self, kind: str, body: Mapping[str, Any], is_over: Callable[[], bool]) -> None:
        """Repeats the report until the coordinator has answered it."""
        self.is_reporting = True
        failures, is_refused, is_placing = 0, False, False
        while True:
            try:
                is_placing = "result" in body
                if is_placing:
                    body = self._placed(body, is_refused)
                is_placing = False
                self._api.call("POST", f"{self.path}/{kind}", {**self.lease, **body})
                return
            except Problem as problem:
                if not problem.is_temporary:
                    is_unfit = problem.status in (400, 413)
                    if is_unfit and "result" in body and not is_refused:
                        is_refused = True  # It may nest deeper, or have more values, than a report may.
                        continue
                    log.info("job %s: its report was refused: %s", self._job["id"], problem)
                    if kind == "complete" and (is_unfit or is_placing):
                        # Where the lease is gone, what the job spent is counted all the same.
                        error = {"code": "result_refused", "message": str(problem)[:MAX_MESSAGE], "retryable": False}
                        spent = {name: body[name] for name in ("usage", "cost_usd") if name in body}
                        return self.report("fail", {**spent, "error": error}, is_over)
                    if is_unfit and kind == "fail" and len(body) > 1:
                        return self.report("fail", {"error": body["error"]}, is_over)  # Without what it has spent.
                    return
            if is_over():
                return
            failures += 1
            time.sleep(backoff(failures))

    def _placed(self, body: Mapping[str, Any], is_refused: bool) -> Mapping[str, Any]:
        """The report, without a result that it could not carry."""
        text = json_of(body["result"])
        if len(text) <= REPORTED_BYTES and not is_refused:
            return body
        target, headers = path_with(f"{self.path}/result", **self.lease), {"Content-Type": "application/json"}
        stored = self._api.call("PUT", target, text, headers=headers, timeout=600)
        others = {name: value for name, value in body.items() if name != "result"}
        return {**others, "result_file": stored["file"]["id"]}

    def end_stream(self, is_whole: bool) -> None:
        with self._stream_lock:
            if is_whole and self._job.get("stream") and self._job.get("api"):
                self._opened_stream()  # Without one the coordinator waits for it before it makes events of the result.
            if self._stream is not None:
                self._stream.end(is_whole)

    def _opened_stream(self) -> Stream:
        if self._stream is None:
            self._stream = Stream(self._api, f"{self.path}/stream?lease={self.lease['lease']}")
        return self._stream

    def _write(self, part: Event) -> None:
        if not self._job.get("stream"):
            return
        with self._stream_lock:
            is_read = self._opened_stream().write(part, self._job.get("api") in NAMED_EVENTS)
        if not is_read:
            self.is_reader_gone = True
            self.cancel("the reader of its stream has left")
            raise Cancelled

    def _spend(self, spent: Mapping[str, Any]) -> None:
        self._spent.update(spent)

    def _keep(self, name: str, content: bytes | str) -> Mapping[str, Any]:
        target = path_with(f"{self.path}/files", **self.lease, name=name)
        try:
            return until_reached(lambda: send_file(self._api, target, content), lambda: self.cancelled)
        except Problem as problem:
            if problem.status == 404 and str(problem).startswith("route "):
                raise Fail("file_not_kept", f"this coordinator keeps no files of jobs: {name} has no place") from None
            if problem.is_temporary:
                raise Retry(f"the file {name} could not be sent: {problem}") from None
            raise Fail("file_not_kept", f"the coordinator did not take the file {name}: {problem}") from None


class Stream:
    """One request, whose body is the events as they come. The coordinator answers early when nobody reads them."""

    def __init__(self, api: Api, path: str) -> None:
        self._connection, target, headers = _way_to(api.url + path)
        self._is_plain = not isinstance(self._connection, http.client.HTTPSConnection)
        self._is_dead = False
        try:
            self._connection.putrequest("POST", target)
            for name, value in headers.items():
                self._connection.putheader(name, value)
            self._connection.putheader("Authorization", f"Bearer {api.key}")
            self._connection.putheader("Content-Type", "text/event-stream")
            self._connection.putheader("Transfer-Encoding", "chunked")
            self._connection.endheaders()
        except OSError:
            self._is_dead = True

    def write(self, part: Event, has_name: bool = False) -> bool:
        """False: nobody reads. A connection that is lost costs the stream, not the job."""
        if self._is_dead:
            return True
        text = part if isinstance(part, str) else json.dumps(part, allow_nan=False)
        name = f"event: {part['type']}\n" if has_name and not isinstance(part, str) and "type" in part else ""
        data = f"{name}data: {text}\n\n".encode()
        try:
            if self._is_answered():
                return self._status() != 409
            self._connection.send(b"%x\r\n%s\r\n" % (len(data), data))
            return True
        except OSError:
            return self._status() != 409

    def end(self, is_whole: bool) -> None:
        if not self._is_dead and is_whole:
            try:
                self._connection.send(b"0\r\n\r\n")
            except OSError:
                pass
            self._status()
        self._is_dead = True  # What a handler left running may still write.
        self._connection.close()

    def _is_answered(self) -> bool:
        # With TLS, bytes may arrive that are no answer.
        return self._is_plain and bool(select.select([self._connection.sock], [], [], 0)[0])

    def _status(self) -> int:
        self._is_dead = True
        try:
            status: int = self._connection.getresponse().status
            return status
        except (OSError, http.client.HTTPException):
            return 0


def _way_to(url: str) -> tuple[http.client.HTTPConnection, str, dict[str, str]]:
    """The connection, what to ask it for, and with what headers: by the environment's proxy, as other requests go."""
    parts = urllib.parse.urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    target = urllib.parse.urlunsplit(("", "", parts.path, parts.query, ""))
    proxy = urllib.request.getproxies().get(parts.scheme)
    if not proxy or urllib.request.proxy_bypass(parts.netloc):
        return _connection_to(host, parts.scheme), target, {}
    by = urllib.parse.urlsplit(proxy if "//" in proxy else f"//{proxy}")
    headers = {}
    if by.username is not None:
        given = ":".join(urllib.parse.unquote(part or "") for part in (by.username, by.password))
        headers["Proxy-Authorization"] = f"Basic {base64.b64encode(given.encode()).decode()}"
    to_proxy = by.netloc.rpartition("@")[2]
    if parts.scheme == "http":
        return _connection_to(to_proxy, by.scheme), url, headers
    connection = _connection_to(to_proxy, "https")
    connection.set_tunnel(host, headers=headers)
    return connection, target, {}


def _connection_to(host: str, scheme: str) -> http.client.HTTPConnection:
    if scheme == "https":
        return http.client.HTTPSConnection(host, timeout=60)
    return http.client.HTTPConnection(host, timeout=60)
