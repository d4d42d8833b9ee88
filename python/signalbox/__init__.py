"""Signalbox: a Python function as a worker, and a small client. Standard library only, Python 3.9 or later.

    from signalbox import run, worker

    @worker(provider="upper", concurrency=2)
    def upper(job, ctx):
        return job["prompt"].upper()

    run()

SERVICE_API_URL and SERVICE_API_KEY say where jobs come from. `python worker.py --once '{"prompt": "hi"}'` runs one job
without a coordinator and prints its report. Heartbeats have a thread of their own, so a handler may compute for hours;
C code that never lets go of the interpreter's lock needs `process=True`.
"""

from __future__ import annotations

import asyncio
import atexit
import hashlib
import http.client
import inspect
import json
import logging
import math
import multiprocessing
import operator
import os
import random
import re
import select
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

try:
    import fcntl
except ImportError:  # Windows has none.
    fcntl = None  # type: ignore[assignment]

__all__ = ["Cancelled", "Context", "Fail", "Problem", "Retry", "Signalbox", "run", "worker"]
__version__ = "0.0.0"  # The build writes the release here.

LOCAL_URL = "http://127.0.0.1:8787"
CLAIM_WAIT_SECONDS = 25
REQUEST_SECONDS = 40.0
BEAT_SECONDS = 5.0
DRAIN_SECONDS = 8.0
GRACE_SECONDS = 5.0
REPORTED_BYTES = 1024 * 1024  # A larger result is stored first, and the report names it.
MAX_RESULT_BYTES = 64 * 1024 * 1024
MAX_MESSAGE = 8000
MAX_RETRY_AFTER_SECONDS = 86_400.0
PRESENCE_FIELDS = ("heartbeat_interval_seconds", "killswitch", "halted", "jobs")
BYTES_LIKE = (bytes, bytearray, memoryview)
OTHER_COUNTS = ("cached_input_tokens", "reasoning_tokens")
FINAL = ("completed", "failed", "cancelled")

log = logging.getLogger("signalbox")
Job = Mapping[str, Any]


# --- Requests -------------------------------------------------------------------------------------------------------


class Problem(Exception):
    """What the coordinator refused, by its stable `code`; `unreachable` where there was no answer (status 0)."""

    def __init__(self, code: str, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.status = status

    @property
    def is_temporary(self) -> bool:
        return self.status in (0, 408, 429) or self.status >= 500


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The key is sent to no other address."""

    def redirect_request(self, *args: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects())


class _Api:
    def __init__(self, url: str | None = None, key: str | None = None) -> None:
        self.url = (url or os.environ.get("SERVICE_API_URL") or LOCAL_URL).rstrip("/")
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
                time.sleep(_backoff(attempt))


def _problem_of(error: urllib.error.HTTPError) -> Problem:
    with error:
        try:
            told = json.loads(error.read())
        except (OSError, ValueError, http.client.HTTPException):
            told = {}
    told = told if isinstance(told, dict) else {}
    code = told.get("code") or ("redirected" if 300 <= error.code < 400 else "unexpected_answer")
    return Problem(code, told.get("detail") or told.get("title") or f"HTTP {error.code}", error.code)


def _backoff(failures: int) -> float:
    return random.uniform(0.1, min(30.0, 0.5 * 2 ** min(failures, 8)))


def _fresh_key() -> str:
    """Later keys sort behind earlier ones, so that the service finds and adds them near each other."""
    return f"{int(time.time() * 1000):012x}-{uuid.uuid4()}"


def _query(path: str, **fields: Any) -> str:
    told = {name: value for name, value in fields.items() if value is not None}
    return f"{path}?{urllib.parse.urlencode(told)}" if told else path


# --- The client -----------------------------------------------------------------------------------------------------


class Signalbox:
    """A client: `Signalbox().run("hi", model="llama3.2")["result"]`."""

    def __init__(self, url: str | None = None, key: str | None = None) -> None:
        self._api = _Api(url, key)
        self.files = Files(self._api)

    def run(self, prompt: str, **fields: Any) -> dict[str, Any]:
        """Creates a job and waits until it is completed, failed or cancelled. Returns the job."""
        return self.wait(self._create({"prompt": prompt, **fields})["id"])

    def wait(self, job_id: str) -> dict[str, Any]:
        while True:
            job: dict[str, Any] = self._api.insist("GET", f"/api/jobs/{job_id}?wait={CLAIM_WAIT_SECONDS}")
            if job["status"] in FINAL:
                return self._with_result(job)

    def _with_result(self, job: dict[str, Any]) -> dict[str, Any]:
        """A result over 1 MiB is a file, which is read as if it stood in the job."""
        kept = job.get("result_file")
        if kept is None:
            return job
        return {**job, "result": self._api.insist("GET", f"/api/files/{kept['id']}/content", timeout=600)}

    def stream(self, prompt: str, **fields: Any) -> Iterator[Any]:
        """The answer while it is written: text, and other parts as they are. Raises Problem if the job fails."""
        job_id = self._create({"prompt": prompt, **fields, "stream": True})["id"]
        after, has_written, failures = "", False, 0
        while failures < 3:
            headers = {"Last-Event-ID": after} if after else {}
            try:
                with self._api.open("GET", f"/api/jobs/{job_id}/stream", headers=headers, timeout=120) as answer:
                    for event, event_id, data in _events(answer):
                        after, failures = event_id or after, 0
                        if event == "chunk":
                            has_written = True
                            yield data["text"] if isinstance(data, dict) and "text" in data else data
                        elif event == "end":
                            yield from self._end_of(job_id, has_written)
                            return
            except (OSError, http.client.HTTPException):
                pass  # It is opened again after the last event.
            failures += 1
            time.sleep(_backoff(failures))
        raise Problem("unreachable", f"the stream of job {job_id} broke off: read the job itself")

    def jobs(self, **query: Any) -> Iterator[dict[str, Any]]:
        """The jobs of `GET /api/jobs`, page by page, newest first: `jobs(status="failed", model="whisper")`."""
        while True:
            page = self._api.insist("GET", _query("/api/jobs", **query))
            yield from page["jobs"]
            if not page.get("next_cursor"):
                return
            query = {**query, "cursor": page["next_cursor"]}
            query.pop("offset", None)

    def _create(self, job: Mapping[str, Any]) -> Any:
        return self._api.insist("POST", "/api/jobs", job, headers={"Idempotency-Key": _fresh_key()})

    def _end_of(self, job_id: str, has_written: bool) -> Iterator[Any]:
        job = self.wait(job_id)
        if job["status"] != "completed":
            error = job["error"] or {"code": job["status"], "message": f"the job was {job['status']}"}
            raise Problem(error["code"], error["message"], error.get("status") or 0)
        # A worker may tell nothing while it writes.
        result = job["result"]
        if not has_written and result is not None:
            yield result["text"] if isinstance(result, dict) and "text" in result else result


class Files:
    def __init__(self, api: _Api) -> None:
        self._api = api

    def upload(
        self,
        content: str | os.PathLike[str] | bytes | bytearray | memoryview,
        name: str | None = None,
        content_type: str = "application/octet-stream",
        **query: Any,
    ) -> dict[str, Any]:
        """Uploads bytes, or the file at a path. Returns the file, whose `id` goes into a job's `files`."""
        path = None if isinstance(content, BYTES_LIKE) else os.fspath(content)
        target = _query("/api/files", name=name or (os.path.basename(path) if path else "file"), **query)
        return _send_file(self._api, target, bytes(content) if path is None else path, content_type)


def _send_file(
    api: _Api, target: str, content: bytes | str, content_type: str = "application/octet-stream"
) -> dict[str, Any]:
    headers = {"Content-Type": content_type}
    if isinstance(content, bytes):
        kept: dict[str, Any] = api.call("POST", target, content, headers=headers, timeout=600)
        return kept
    with open(content, "rb") as file:
        headers["Content-Length"] = str(os.fstat(file.fileno()).st_size)
        kept = api.call("POST", target, file, headers=headers, timeout=600)
        return kept


def _events(answer: Any) -> Iterator[tuple[str, str, Any]]:
    """Server-sent events as (event, id, data); data is parsed if it is JSON."""
    event, event_id, data = "message", "", []  # type: str, str, list[str]
    for raw in answer:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if line == "":
            if data:
                text = "\n".join(data)
                try:
                    yield event, event_id, json.loads(text)
                except ValueError:
                    yield event, event_id, text
            event, data = "message", []
        elif name == "event":
            event = value
        elif name == "id":
            event_id = value
        elif name == "data":
            data.append(value)


# --- What a handler sees --------------------------------------------------------------------------------------------


class Retry(Exception):
    """Fails the job, to be tried again, here or elsewhere."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class Fail(Exception):
    """Fails the job for good, with a code of your own."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message


class Cancelled(BaseException):
    """The job is no longer this worker's. Nothing that the handler does or returns can finish it."""


class Context:
    """A job's line to its coordinator. Every method may be called from any thread."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._texts: list[str] = []
        self._text_bytes = 0
        self._spent: dict[str, Any] = {}
        self._progress: dict[str, Any] | None = None
        self._cancelled = threading.Event()
        seconds = job.get("timeout_seconds")
        self._ends_at = time.monotonic() + seconds if seconds else float("inf")

    @property
    def cancelled(self) -> bool:
        """Whether to stop: the job was cancelled, halted, timed out or given to another worker."""
        return self._cancelled.is_set() or time.monotonic() > self._ends_at

    @property
    def files(self) -> Sequence[Mapping[str, Any]]:
        """The job's files: `id`, `name`, `bytes`, `content_type`, and a `url` that needs no key."""
        return self._job.get("files") or []

    def emit(self, part: str | Mapping[str, Any]) -> None:
        """Passes on a part of the answer while it is made. Text is the result of a handler that returns none."""
        if self.cancelled:
            raise Cancelled
        if isinstance(part, str):
            self._texts.append(part)
            self._text_bytes += len(part.encode("utf-8", "replace"))
            if self._text_bytes > MAX_RESULT_BYTES:
                raise Fail("result_too_large", f"the handler wrote more than the limit of {MAX_RESULT_BYTES} bytes")
        self._write({"text": part} if isinstance(part, str) else part)

    def progress(self, share: float, message: str | None = None) -> None:
        """`share` from 0 to 1; what is no number is 0, since a job is not to be lost for it."""
        self._progress = {"progress": min(1.0, max(0.0, float(share))), **({} if message is None else {"message": str(message)[:1000]})}

    def usage(self, input_tokens: int, output_tokens: int, **others: int) -> None:
        """Whole numbers of any kind, such as numpy's. Of a library's other counts the two that a job has are taken."""
        told = {"input_tokens": input_tokens, "output_tokens": output_tokens}
        told.update({name: others[name] for name in OTHER_COUNTS if others.get(name) is not None})
        self._spent["usage"] = {name: operator.index(tokens) for name, tokens in told.items()}

    def cost(self, usd: float) -> None:
        if not (math.isfinite(usd) and usd >= 0):
            raise ValueError(f"a cost must be 0 or more, not {usd}")
        self._spent["cost_usd"] = float(usd)

    def file(self, name: str, content: bytes | bytearray | memoryview | str | os.PathLike[str]) -> Mapping[str, Any]:
        """Keeps an output of the job: bytes, or the file at a path."""
        return self._keep(name, bytes(content) if isinstance(content, BYTES_LIKE) else os.fspath(content))

    def log(self, *words: object) -> None:
        log.info("job %s: %s", self._job["id"], " ".join(map(str, words)))

    def _stopped(self) -> Outcome:
        if self._cancelled.is_set():
            return "cancelled", {}
        message = f"The job ran longer than its timeout of {self._job['timeout_seconds']} s"
        return "fail", {"error": {"code": "timeout", "message": message, "retryable": False}}

    def _write(self, part: Mapping[str, Any]) -> None:
        """Where parts of the answer go."""

    def _keep(self, name: str, content: bytes | str) -> Mapping[str, Any]:
        """Where outputs go; without a coordinator, they are only named."""
        self._spent.setdefault("files", []).append({"name": name})
        return {"name": name}


Handler = Callable[[Job, Context], Any]
Outcome = tuple[str, dict[str, Any]]


def _outcome_of(handler: Handler, job: Job, ctx: Context) -> Outcome:
    """Runs the handler: ("complete" | "fail" | "cancelled", the body of the report)."""
    try:
        result = _finished(handler(job, ctx), ctx)
        if result is None and ctx._texts:
            result = "".join(ctx._texts)
        try:
            size = len(_json_of(result))
        except (TypeError, ValueError) as error:
            raise Fail("bad_output", f"the handler's result is no JSON: {error}") from None
        if size > MAX_RESULT_BYTES:
            raise Fail("result_too_large", f"the result has {size} bytes, more than the limit of {MAX_RESULT_BYTES}")
        body: dict[str, Any] = {"result": result}
        kind = "complete"
    except BaseException as error:  # A handler that calls sys.exit(), or cancels itself, fails its job, not the worker.
        kind, body = "fail", {} if ctx.cancelled else {"error": _failure_by(error)}
    if ctx.cancelled:
        kind, body = ctx._stopped()
    return kind, {**body, **ctx._spent}


def _json_of(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


def _finished(result: Any, ctx: Context) -> Any:
    """What a function, a coroutine or a generator of either kind comes to. A generator's parts are emitted."""
    if inspect.isgenerator(result):
        try:
            while True:
                ctx.emit(next(result))
        except StopIteration as end:
            return end.value
        finally:
            result.close()
    if inspect.isasyncgen(result):
        return asyncio.run(_until(_emitted(result, ctx), ctx))
    if inspect.isawaitable(result):
        return asyncio.run(_until(result, ctx))
    return result


async def _emitted(parts: Any, ctx: Context) -> None:
    async for part in parts:
        ctx.emit(part)


async def _until(awaitable: Any, ctx: Context) -> Any:
    """The job's end is the task's end."""
    task = asyncio.ensure_future(awaitable)
    while not task.done():
        await asyncio.wait({task}, timeout=0.2)
        if ctx.cancelled:
            task.cancel()
    return task.result()


def _failure_by(error: BaseException) -> dict[str, Any]:
    if isinstance(error, Retry):
        return {"code": "retry", "message": _text_of(error)[:MAX_MESSAGE], "retryable": True, **_pause_of(error.after)}
    if isinstance(error, Fail):
        code = "".join(char if char.isprintable() else " " for char in _text_of(error.code)).strip()[:64]
        return {"code": code or "failed", "message": _text_of(error.message)[:MAX_MESSAGE], "retryable": False}
    log.error("a handler failed:\n%s", "".join(traceback.format_exception(type(error), error, error.__traceback__)))
    name = type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
    code = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()[:64]
    return {"code": code, "message": f"{name}: {_text_of(error)}"[: MAX_MESSAGE - 100] + where, "retryable": False}


def _text_of(value: object) -> str:
    """Whatever a handler has given as words: no job is lost for it."""
    try:
        return str(value)
    except Exception:
        return f"a {type(value).__name__} without words"


def _pause_of(after: Any) -> dict[str, float]:
    try:
        seconds = float(after)
    except (TypeError, ValueError):
        return {}
    return {} if math.isnan(seconds) else {"retry_after_seconds": min(max(0.0, seconds), MAX_RETRY_AFTER_SECONDS)}


# --- A job at work --------------------------------------------------------------------------------------------------


class _Run(Context):
    """A leased job. Its lease decides: once that is lost, nothing that the handler does counts."""

    def __init__(self, job: Job, api: _Api, changed: Callable[[], None]) -> None:
        super().__init__(job)
        self._api, self._changed = api, changed
        self._stream: _Stream | None = None
        self._stream_lock = threading.Lock()
        self.beat_at = time.monotonic()
        self.told: dict[str, Any] | None = None
        self.is_reader_gone = False
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
            if problem.status in (404, 409):
                self.cancel(str(problem))

    def report(self, kind: str, body: Mapping[str, Any], is_over: Callable[[], bool]) -> None:
        """Repeats the report until the coordinator has answered it."""
        failures, is_refused = 0, False
        while True:
            try:
                if "result" in body:
                    body = self._placed(body, is_refused)
                self._api.call("POST", f"{self.path}/{kind}", {**self.lease, **body})
                return
            except Problem as problem:
                if not problem.is_temporary:
                    is_unfit = problem.status in (400, 413)
                    if is_unfit and "result" in body and not is_refused:
                        is_refused = True  # It may nest deeper, or have more values, than a report may.
                        continue
                    log.info("job %s: its report was refused: %s", self._job["id"], problem)
                    if is_unfit and kind == "complete":
                        error = {"code": "result_refused", "message": str(problem)[:MAX_MESSAGE], "retryable": False}
                        return self.report("fail", {"error": error}, is_over)
                    if is_unfit and kind == "fail" and len(body) > 1:
                        return self.report("fail", {"error": body["error"]}, is_over)  # Without what it has spent.
                    return
            if is_over():
                return
            failures += 1
            time.sleep(_backoff(failures))

    def _placed(self, body: Mapping[str, Any], is_refused: bool) -> Mapping[str, Any]:
        """The report, without a result that it could not carry."""
        text = _json_of(body["result"])
        if len(text) <= REPORTED_BYTES and not is_refused:
            return body
        target, headers = _query(f"{self.path}/result", **self.lease), {"Content-Type": "application/json"}
        stored = self._api.call("PUT", target, text, headers=headers, timeout=600)
        others = {name: value for name, value in body.items() if name != "result"}
        return {**others, "result_file": stored["file"]["id"]}

    def end_stream(self, is_whole: bool) -> None:
        with self._stream_lock:
            if self._stream is not None:
                self._stream.end(is_whole)

    def _write(self, part: Mapping[str, Any]) -> None:
        if not self._job.get("stream"):
            return
        with self._stream_lock:
            if self._stream is None:
                self._stream = _Stream(self._api, f"{self.path}/stream?lease={self.lease['lease']}")
            is_read = self._stream.write(part)
        if not is_read:
            self.is_reader_gone = True
            self.cancel("the reader of its stream has left")
            raise Cancelled

    def _keep(self, name: str, content: bytes | str) -> Mapping[str, Any]:
        try:
            return _send_file(self._api, _query(f"{self.path}/files", **self.lease, name=name), content)
        except Problem as problem:
            if problem.status == 404 and str(problem).startswith("route "):
                raise Fail("file_not_kept", f"this coordinator keeps no files of jobs: {name} has no place") from None
            if problem.is_temporary:
                raise Retry(f"the file {name} could not be sent: {problem}") from None
            raise Fail("file_not_kept", f"the coordinator did not take the file {name}: {problem}") from None


class _Stream:
    """One request, whose body is the events as they come. The coordinator answers early when nobody reads them."""

    def __init__(self, api: _Api, path: str) -> None:
        parts = urllib.parse.urlsplit(api.url)
        connect = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = connect(parts.hostname or "", parts.port, timeout=60)
        self._is_plain = parts.scheme == "http"
        self._is_dead = False
        try:
            self._connection.putrequest("POST", parts.path + path)
            self._connection.putheader("Authorization", f"Bearer {api.key}")
            self._connection.putheader("Content-Type", "text/event-stream")
            self._connection.putheader("Transfer-Encoding", "chunked")
            self._connection.endheaders()
        except OSError:
            self._is_dead = True

    def write(self, part: Mapping[str, Any]) -> bool:
        """False: nobody reads. A connection that is lost costs the stream, not the job."""
        if self._is_dead:
            return True
        data = f"data: {json.dumps(part, allow_nan=False)}\n\n".encode()
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
            return self._connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return 0


# --- Handlers in a process of their own -----------------------------------------------------------------------------


class _Child:
    """A process that runs one job after another. It can be ended, which a thread cannot."""

    def __init__(self, handler: Handler) -> None:
        spawned = multiprocessing.get_context("spawn")
        self.line, far = spawned.Pipe()
        self.process = spawned.Process(target=_serve_line, args=(handler, far), daemon=True)
        self.process.start()
        far.close()

    def run(self, job: Job, run: _Run) -> Outcome:
        """Raises EOFError if the process ends before the job."""
        self.line.send(dict(job))
        while True:
            if run.cancelled:
                self.end()
                return run._stopped()
            if not self.line.poll(0.2):
                continue
            method, args = self.line.recv()
            if method == "end":
                outcome: Outcome = args
                return outcome
            try:
                answer = (True, getattr(run, method)(*args))
            except (Cancelled, Exception) as error:
                answer = (False, error)
            if method == "file":
                self.line.send(answer)

    def end(self) -> None:
        self.process.terminate()
        self.process.join(GRACE_SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.line.close()


class _FarContext(Context):
    """The context in the child: everything goes through the line."""

    def __init__(self, job: Job, line: Any) -> None:
        super().__init__(job)
        self._line = line
        self._line_lock = threading.Lock()
        self._is_over = False

    def tell(self, method: str, args: Any) -> Any:
        """What a handler left running says after its end is not the next job's."""
        with self._line_lock:
            if self._is_over:
                raise Cancelled
            self._is_over = method == "end"
            self._line.send((method, args))
            return self._line.recv() if method == "file" else None

    # Plain values alone: the worker cannot read the handler's own types, and what does not fit fails here.
    def _write(self, part: Any) -> None:
        if self._job.get("stream"):
            self.tell("_write", (_plain(part),))

    def progress(self, share: float, message: str | None = None) -> None:
        self.tell("progress", (float(share), None if message is None else str(message)))

    def _keep(self, name: str, content: bytes | str) -> Mapping[str, Any]:
        told = content if isinstance(content, bytes) else os.path.abspath(content)
        is_kept, answer = self.tell("file", (str(name), told))
        if not is_kept:
            raise answer
        return answer


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


def _serve_line(handler: Handler, line: Any) -> None:
    # Ctrl-C reaches the whole group; the worker decides what becomes of the job.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _log_to_stderr()
    while True:
        try:
            job = line.recv()
            ctx = _FarContext(job, line)
            kind, body = _outcome_of(handler, job, ctx)
            ctx.tell("end", (kind, _plain(body)))
        except (EOFError, OSError):
            return


# --- The worker -----------------------------------------------------------------------------------------------------


class _Worker:
    """Claims jobs in one thread, runs each in its own, and tells that it lives in another."""

    def __init__(self, handler: Handler, presence: dict[str, Any], is_process: bool) -> None:
        self.handler, self.presence, self.is_process = handler, presence, is_process
        self.instance: str = presence["instance"]
        self.concurrency: int = presence["concurrency"]
        self.refusal: str | None = None
        self.is_draining = False
        self.is_over = False
        self.interval = 15.0
        self._api: Any = None
        self._runs: dict[str, _Run] = {}
        self._settled: dict[str, int] = {}
        self._children: list[_Child] = []
        self._deaths = 0
        self._unavailable: str | None = None
        # A presence report must not overtake a start: a running job that is missing from it would count as lost.
        self._order = threading.RLock()
        self._changed = threading.Condition()
        self._news = threading.Event()

    def start(self, api: _Api) -> None:
        self._api = api
        for part in (self._claim_for_ever, self._beat_for_ever):
            threading.Thread(target=part, name=f"{self.instance} {part.__name__}", daemon=True).start()

    def drain(self, until: float) -> None:
        """Lets running jobs end, then gives back the rest."""
        self.is_draining = True
        self._report_presence()
        while self._runs and time.monotonic() < until:
            time.sleep(0.05)
        self.is_over = True
        for run in list(self._runs.values()):
            run.cancel("the worker shuts down")
            try:
                reason = "the worker shut down before the job was done"
                self._api.call("POST", f"{run.path}/release", {**run.lease, "reason": reason}, timeout=5)
            except Problem:
                pass
        # A process that is left would be waited for as long as it likes.
        while self.is_process and self._runs and time.monotonic() < until + GRACE_SECONDS + 1:
            time.sleep(0.05)
        for child in self._children:
            child.end()

    def _claim_for_ever(self) -> None:
        hasty = 0
        while not self.is_draining and self.refusal is None:
            free = 0 if self._unavailable else self.concurrency - len(self._runs)
            if free <= 0:
                with self._changed:
                    self._changed.wait(0.5)
                continue
            asked_at = time.monotonic()
            jobs: list[Job] = []
            try:
                if hasty or self.interval_is_over():
                    self._report_presence()
                path = f"/api/workers/{urllib.parse.quote(self.instance)}/claim?wait={CLAIM_WAIT_SECONDS}"
                jobs = self._api.call("POST", path, {"max": min(free, 100)}, needs=("jobs",))["jobs"]
            except Problem as problem:
                self._hear(problem)
            for job in jobs:
                self._take(job)
            # A paused or refused worker is answered at once.
            hasty = hasty + 1 if not jobs and time.monotonic() - asked_at < 1 else 0
            if hasty:
                time.sleep(_backoff(hasty))

    _presence_at = float("-inf")

    def interval_is_over(self) -> bool:
        return time.monotonic() - self._presence_at >= self.interval * 0.9

    def _beat_for_ever(self) -> None:
        while not self.is_over and self.refusal is None:
            often = min(BEAT_SECONDS, self.interval * 0.9) * 0.9
            last = min((run.beat_at for run in list(self._runs.values())), default=None)
            self._news.wait(self.interval * 0.9 if last is None else max(0.0, last + often - time.monotonic()))
            if self._news.is_set():
                self._news.clear()
                time.sleep(1)  # News of the same second go together.
            if self.interval_is_over():
                self._report_presence()
            for run in list(self._runs.values()):
                has_news = run.told != run._progress
                if has_news or time.monotonic() - run.beat_at >= often:
                    run.heartbeat()

    def _report_presence(self) -> None:
        with self._order:
            self._presence_at = time.monotonic()
            running = list(self._runs)
            told: dict[str, Any] = {**self.presence, "jobs": running, "status": "online" if running else "idle"}
            if self.is_draining:
                told["concurrency"] = 0
            if self._unavailable:
                told["unavailable"] = self._unavailable[:500]
            try:
                answer = self._api.call("POST", "/presence", told, needs=PRESENCE_FIELDS, timeout=10)
            except Problem as problem:
                self._hear(problem)
                return
        self._troubled, self._was_connected = "", True
        self.interval = answer["heartbeat_interval_seconds"]
        is_halted = answer["killswitch"]["active"]
        for job_id, run in list(self._runs.items()):
            if is_halted or job_id in answer["halted"]:
                run.cancel("killswitch" if is_halted else "the coordinator took it back")
        for job in answer["jobs"]:
            self._take(job)

    _troubled = ""
    _was_connected = False

    def _hear(self, problem: Problem) -> None:
        # Between a worker and the coordinator that it had, a login page of the network or a gateway passes.
        is_foreign = problem.code in ("redirected", "unexpected_answer")
        is_final = problem.status in (400, 401, 403, 422) or problem.code == "redirected"
        if is_final and not (is_foreign and self._was_connected):
            self.refusal = f"the coordinator refused {self.instance}: {problem}"
        elif str(problem) != self._troubled:
            self._troubled = str(problem)
            log.warning("%s: %s; trying again", self.instance, problem)

    def _take(self, job: Job) -> None:
        with self._order:
            job_id, lease = job["id"], job["lease"]
            known = self._runs.get(job_id)
            if lease <= (known.lease["lease"] if known else self._settled.get(job_id, -1)):
                return
            if known:
                known.cancel("it has a newer lease")
                return  # Not started here, the newer one goes to another worker.
            files = job.get("files") or []
            job = {**job, "files": [{**file, "url": self._api.link(file["url"])} for file in files]}
            run = _Run(job, self._api, self._news.set)
            if self.is_draining or len(self._runs) >= self.concurrency:
                told = ("release", {"reason": "no free place"}, lambda: True)
                threading.Thread(target=run.report, args=told, daemon=True).start()
                return
            self._runs[job_id] = run
            self._news.set()
        threading.Thread(target=self._work, args=(job, run), name=f"job {job_id}", daemon=True).start()

    def _work(self, job: Job, run: _Run) -> None:
        kind, body = "cancelled", {}  # type: str, dict[str, Any]
        try:
            if self._begin(job, run):
                kind, body = self._attempt({**job, "attempt": job["attempts"] + 1}, run)
            if self.is_over:
                return
            run.end_stream(kind == "complete")
            if run.is_reader_gone:
                message = "The reader left before the answer was complete"
                error = {"code": "client_closed", "message": message, "retryable": False}
                kind, body = "fail", {**run._spent, "error": error}
            elif kind == "cancelled" and body:
                # Refused, because the lease is gone; what the job spent is counted.
                error = {"code": "halted", "message": "the job was halted while it ran", "retryable": False}
                kind, body = "fail", {**body, "error": error}
            if kind != "cancelled":
                run.report(kind, body, lambda: self.is_over)
        finally:
            with self._order:
                del self._runs[job["id"]]
                self._settled[job["id"]] = job["lease"]
                if len(self._settled) > 10_000:
                    self._settled.pop(next(iter(self._settled)))
            if run.cancelled:
                self._report_presence()  # Confirms that it has really ended.
            with self._changed:
                self._changed.notify_all()

    def _begin(self, job: Job, run: _Run) -> bool:
        try:
            with self._order:
                self._api.insist("POST", f"{run.path}/start", run.lease, tries=2, timeout=10)
            if job.get("input") is None and job.get("input_url"):
                run._job = {**job, "input": self._api.insist("GET", job["input_url"])}
            return True
        except Problem as problem:
            run.cancel(str(problem))
            return False

    def _attempt(self, job: Job, run: _Run) -> Outcome:
        job = {**job, "input": run._job.get("input")}
        if not self.is_process:
            return _outcome_of(self.handler, job, run)
        child = None
        try:
            child = self._children.pop() if self._children else _Child(self.handler)
            kind, body = child.run(job, run)
            self._deaths = 0
            if child.process.is_alive():
                self._children.append(child)
            return kind, body
        except Exception as error:  # Whatever it is: an attempt without a report would be lost.
            if child is not None:
                child.process.join(1)
                if child.process.is_alive():
                    child.end()
            how = f"ended with exit code {child.process.exitcode}" if child else f"could not start: {error}"
            self._died(how)
            message = f"The handler's process {how}"
            return "fail", {"error": {"code": "process_ended", "message": message, "retryable": True}}

    def _died(self, how: str) -> None:
        """Rests for a while, so that a handler that cannot work at all does not spend every job's attempts."""
        self._deaths += 1
        if self._deaths < 3:
            return
        self._unavailable = f"the handler's process failed {self._deaths} times in a row: it {how}"
        threading.Timer(min(30.0, 2.0 ** (self._deaths - 2)), self._recover).start()
        self._report_presence()

    def _recover(self) -> None:
        self._unavailable = None
        self._report_presence()


_workers: list[_Worker] = []
_stop = threading.Event()
_has_run = False


def worker(
    provider: str,
    models: Sequence[str] = (),
    tags: Sequence[str] = (),
    concurrency: int = 1,
    instance: str | None = None,
    tier: str | None = None,
    process: bool = False,
) -> Callable[[Handler], Handler]:
    """Makes `def handler(job, ctx)` a worker, which `run()` starts. It may return its result, be `async`, or yield
    parts of its answer. With `process=True` it runs in a process of its own, for C code that holds the interpreter."""

    for what, listed in (("models", models), ("tags", tags)):
        if isinstance(listed, str):  # Its letters would be taken for them.
            raise TypeError(f"{what} is a list of texts: {what}=[{listed!r}]")

    def register(handler: Handler) -> Handler:
        name = instance or f"{socket.gethostname()}-{getattr(handler, '__name__', provider)}"
        presence: dict[str, Any] = {
            "instance": re.sub(r"[^A-Za-z0-9._:-]", "-", name)[:128],
            "provider": provider,
            "concurrency": concurrency,
            "tags": ",".join(tags),
            "version": __version__,
        }
        presence.update({"models": list(models)} if models else {}, **({"tier": tier} if tier else {}))
        _workers.append(_Worker(handler, presence, process))
        main_file = getattr(handler, "__globals__", {}).get("__file__")
        if handler.__module__ == "__main__" and main_file and len(_workers) == 1:
            atexit.register(_run_again, os.path.abspath(main_file))
        return handler

    return register


def run(url: str | None = None, key: str | None = None) -> None:
    """Runs every worker of the program until SIGTERM or SIGINT, which drain them. `--once` runs one job alone."""
    global _has_run
    _has_run = True
    if multiprocessing.parent_process() is not None:
        return  # A process of `process=True` has imported the program.
    if "--once" in sys.argv:
        sys.exit(_once(sys.argv[sys.argv.index("--once") + 1 :]))
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGINT"):
            signal.signal(getattr(signal, name), _on_signal)
    _serve(url, key)


def _serve(url: str | None, key: str | None) -> None:
    _log_to_stderr()
    try:
        api = _Api(url, key)
    except ValueError as error:
        sys.exit(f"signalbox: {error}")
    if not _workers:
        sys.exit("signalbox: no function has @worker(provider=…)")
    names = [_own_name(one.instance, api.url) for one in _workers]
    for one in _workers:
        log.info("%s serves %s, %d at a time, for %s", one.instance, one.presence["provider"], one.concurrency, api.url)
        one.start(api)
    while not _stop.wait(0.2):
        refusal = next((one.refusal for one in _workers if one.refusal), None)
        if refusal:
            sys.exit(f"signalbox: {refusal}")
    until = time.monotonic() + DRAIN_SECONDS
    drains = [threading.Thread(target=one.drain, args=(until,)) for one in _workers]
    for thread in drains:
        thread.start()
    for thread in drains:
        thread.join()
    for name in names:
        if name is not None:
            os.close(name)


def _own_name(instance: str, url: str) -> int | None:
    """Holds the name on this machine: of two processes with one name, each presence would tell that the other's jobs
    are lost. One that drains is waited for."""
    if fcntl is None:
        return None
    name = hashlib.sha256(f"{url} {instance}".encode()).hexdigest()[:16]
    place = os.path.join(tempfile.gettempdir(), f"signalbox-{os.getuid()}-{name}.lock")
    try:
        held = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None
    until = time.monotonic() + DRAIN_SECONDS + 1
    while True:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return held
        except BlockingIOError:
            if _stop.wait(0.2) or time.monotonic() > until:
                said = f'another process of this machine runs as "{instance}"'
                sys.exit(f"signalbox: {said}: give each process its own @worker(…, instance=…), or a higher concurrency")
        except OSError:
            return held  # A file system without locks.


def _run_again(main_file: str) -> None:
    """`python worker.py` works without `run()` at its end. Threads may not start while the interpreter ends, so the
    program is started again, and run."""
    if _has_run or hasattr(sys, "last_type"):
        return
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    start = f"import sys; sys.path.insert(0, {home!r}); import signalbox; signalbox._run_file()"
    os.execv(sys.executable, [sys.executable, "-c", start, main_file, *sys.argv[1:]])


def _run_file() -> None:
    del sys.argv[0]
    main = sys.modules["__main__"].__dict__
    main["__file__"] = sys.argv[0]
    sys.path.insert(0, os.path.dirname(sys.argv[0]))
    with open(sys.argv[0], encoding="utf-8") as file:
        exec(compile(file.read(), sys.argv[0], "exec"), main)
    run()


_signalled_at = 0.0


def _on_signal(number: int, _frame: Any) -> None:
    global _signalled_at
    # A terminal and npm or a shell may both pass on the same Ctrl-C.
    if _stop.is_set() and time.monotonic() - _signalled_at > 0.5:
        os._exit(1)
    _signalled_at = _signalled_at or time.monotonic()
    _stop.set()


def _once(rest: Sequence[str]) -> int:
    _log_to_stderr()
    try:
        given = json.loads(rest[0] if rest else "")
        assert isinstance(given["prompt"], str)
    except (AssertionError, ValueError, KeyError, TypeError):
        print("""signalbox: --once needs a job: --once '{"prompt": "hi"}'""", file=sys.stderr)
        return 2
    named = [one for one in _workers if given.get("provider") in (None, one.presence["provider"])]
    if len(named) != 1:
        print("signalbox: --once needs one worker: name its provider in the job", file=sys.stderr)
        return 2
    plain = dict.fromkeys(("input", "provider", "model", "api", "timeout_seconds"))
    whole = {"id": "once", "lease": 1, "attempt": 1, "attempts": 0, "metadata": {}, "tags": [], "files": []}
    job = {**whole, **plain, "stream": False, **given}
    ctx = Context(job)
    kind, body = _outcome_of(named[0].handler, job, ctx)
    report = {"status": "completed" if kind == "complete" else "failed", **body}
    print(json.dumps(report if ctx._progress is None else {**report, "progress": ctx._progress}))
    return 0 if kind == "complete" else 1


def _log_to_stderr() -> None:
    if not log.handlers and not logging.getLogger().handlers:
        logging.basicConfig(level=logging.INFO, format="signalbox: %(message)s")
