"""Handlers in a process of their own."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Mapping
from typing import Any

from ._context import Cancelled, Context, Job, Outcome
from ._log import log_to_stderr
from ._outcome import Handler, outcome_of
from ._run import Run

GRACE_SECONDS = 5.0


class Child:
    """A process that runs one job after another. It can be ended, which a thread cannot."""

    def __init__(self, handler: Handler) -> None:
        spawned = multiprocessing.get_context("spawn")
        self.line, far = spawned.Pipe()
        self.process = spawned.Process(target=serve_line, args=(handler, far), daemon=True)
        self.process.start()
        far.close()

    def run(self, job: Job, run: Run) -> Outcome:
        """Raises EOFError if the process ends before the job."""
        self.line.send(dict(job))
        while True:
            if run.cancelled:
                self.end()
                kind, body = run._stopped()
                return kind, {**body, **run._spent}
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


class FarContext(Context):
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

    # Told at once: a process that is ended tells nothing more.
    def usage(self, input_tokens: int, output_tokens: int, **others: int) -> None:
        super().usage(input_tokens, output_tokens, **others)
        self.tell("_spend", (dict(self._spent),))

    def cost(self, usd: float) -> None:
        super().cost(usd)
        self.tell("_spend", (dict(self._spent),))

    def _keep(self, name: str, content: bytes | str) -> Mapping[str, Any]:
        told = content if isinstance(content, bytes) else os.path.abspath(content)
        is_kept, answer = self.tell("file", (str(name), told))
        if not is_kept:
            raise answer
        kept: Mapping[str, Any] = answer
        return kept


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


def serve_line(handler: Handler, line: Any) -> None:
    # Ctrl-C reaches the whole group; the worker decides what becomes of the job.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    log_to_stderr()
    while True:
        try:
            job = line.recv()
            ctx = FarContext(job, line)
            kind, body = outcome_of(handler, job, ctx)
            ctx.tell("end", (kind, _plain(body)))
        except (EOFError, OSError):
            return
