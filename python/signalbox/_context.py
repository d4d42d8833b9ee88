"""What a handler sees of its job, and how it fails one."""

from __future__ import annotations

import math
import operator
import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ._answers import (
    ANSWER_HAS,
    ANSWERS_IN_TEXT,
    DONE,
    ENDS_WITH_DONE,
    Event,
    asks_several,
    counted_in,
    is_answer_of,
    text_answer_of,
    vectors_as_asked,
)
from ._log import log
from ._requests import BYTES_LIKE

MAX_RESULT_BYTES = 64 * 1024 * 1024
OTHER_COUNTS = ("cached_input_tokens", "reasoning_tokens", "cache_write_tokens", "cache_write_1h_tokens")

MIXED = "an answer is emitted as text or as chunks, not as both"

Job = Mapping[str, Any]
Outcome = tuple[str, dict[str, Any]]


class Retry(Exception):
    """Fails the job, to be tried again, here or elsewhere."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class Fail(Exception):
    """Fails the job for good, with a code of your own."""

    _status: int | None = None

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message


class SeveralPrompts(Fail):
    """A client would take a text for the answer to the first."""

    _status = 400

    def __init__(self) -> None:
        super().__init__("unsupported_parameter", "prompt: this program answers one in a request, not a list of several")


class Cancelled(BaseException):
    """The job is no longer this worker's. Nothing that the handler does or returns can finish it."""


class Context:
    """A job's line to its coordinator. Every method may be called from any thread."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._form = text_answer_of(job)
        self._has_chunks = False
        self._order = threading.RLock()
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
        """Passes on a part of the answer while it is made: text, or a chunk of the client's API. Text is the result of a
        handler that returns none."""
        if self.cancelled:
            raise Cancelled
        if part is None:
            return
        if not isinstance(part, (str, Mapping)):
            raise TypeError(f"emit takes text or a chunk, which is a dict, not {part!r:.100}")
        with self._order:
            if isinstance(part, str):
                self._say(part)
            elif self._form and self._texts:
                raise TypeError(MIXED)
            else:
                self._has_chunks = True
                self._write(part)

    def _say(self, text: str) -> None:
        if self._has_chunks and self._job.get("api"):
            raise TypeError(MIXED)
        if asks_several(self._job):
            raise SeveralPrompts
        before = self._form.start() if self._form and not self._texts else []
        self._texts.append(text)
        self._text_bytes += len(text.encode("utf-8", "replace"))
        if self._text_bytes > MAX_RESULT_BYTES:
            raise Fail("result_too_large", f"the handler wrote more than the limit of {MAX_RESULT_BYTES} bytes")
        if self._form:
            for event in [*before, self._form.piece(text)]:
                self._write(event)
        elif self._job.get("api") is None:
            self._write({"text": text})

    def _answer(self, result: Any) -> Any:
        """What the client of an API gets for the handler's result; ends what was emitted for it."""
        api = self._job.get("api")
        if api is None:
            return result
        if isinstance(result, str) and api in ANSWERS_IN_TEXT:
            is_plain = (self._job.get("input") or {}).get("response_format") in ("text", "srt", "vtt")
            return result if is_plain and not self._job.get("stream") else {"text": result}
        is_text = isinstance(result, str) and self._form is not None and not self._has_chunks
        is_streamed = self._has_chunks and self._job.get("stream") and not isinstance(result, (dict, list))
        if not (is_text or is_streamed or is_answer_of(api, result)):
            what = ("text, or " if self._form else "") + f'a dict with "{ANSWER_HAS.get(api, ("data",))[0]}"'
            hint = ', also for a client without a stream (job["stream"])' if self._has_chunks else ""
            raise Fail("bad_output", f"There is no answer of {api}: the result must be {what}{hint}")
        if is_text and not self._texts:
            self._say(result)
        counted = self._spent.get("usage")
        if self._form and self._texts:
            for event in self._form.end(result if is_text else "".join(self._texts), counted):
                self._write(event)
        elif self._has_chunks and api in ENDS_WITH_DONE:
            self._write(DONE)
        if is_text and self._form:
            return self._form.whole(result, counted)
        if counted is None and (told := counted_in(result)):
            self._spent["usage"] = told
        return vectors_as_asked(self._job.get("input"), result) if api == "embeddings" else result

    def progress(self, share: float, message: str | None = None) -> None:
        """`share` from 0 to 1; what is no number is 0, since a job is not to be lost for it."""
        self._progress = {"progress": min(1.0, max(0.0, float(share))), **({} if message is None else {"message": str(message)[:1000]})}

    def usage(self, input_tokens: int, output_tokens: int, **others: int) -> None:
        """Whole numbers of any kind, such as numpy's. Of a library's other counts those that a job has are taken."""
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

    def _write(self, part: Event) -> None:
        """Where parts of the answer go."""

    def _keep(self, name: str, content: bytes | str) -> Mapping[str, Any]:
        """Where outputs go; without a coordinator, they are only named."""
        self._spent.setdefault("files", []).append({"name": name})
        return {"name": name}
