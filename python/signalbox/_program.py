"""A program of workers: what is declared, how it starts and how it ends."""

from __future__ import annotations

import atexit
import hashlib
import json
import multiprocessing
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

try:
    import fcntl
except ImportError:  # Windows has none.
    fcntl = None  # type: ignore[assignment]

from ._context import Context, Job
from ._log import log, log_to_stderr
from ._outcome import Handler, outcome_of
from ._requests import Api, Problem
from ._version import __version__
from ._worker import Worker

DRAIN_SECONDS = 8.0

_USAGE = """Runs the program's workers until SIGTERM or Ctrl-C, which let running jobs end.

  --once <job>  runs one job without a coordinator and prints its report: --once '{"prompt": "hi"}'
  --help        prints this text

Environment: SERVICE_API_KEY (a key of role worker), SERVICE_API_URL (http://127.0.0.1:8787)."""

# On Windows `execv` starts a process beside the caller's, whose shell goes on, and quotes no argument.
_HAS_EXEC = os.name != "nt"

AnyHandler = TypeVar("AnyHandler", bound=Handler)

_workers: list[Worker] = []
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
    apis: Sequence[str] = (),
) -> Callable[[AnyHandler], AnyHandler]:
    """Makes `def handler(job, ctx)` a worker, which `run()` starts. It may return its result, be `async`, or yield
    parts of its answer. With `process=True` it runs in a process of its own, for C code that holds the interpreter.
    `apis`, such as `["chat/completions"]`, are those of the clients whose requests it answers: `job["input"]` is the
    request, `job["prompt"]` what its user said last."""

    for what, listed in (("models", models), ("tags", tags), ("apis", apis)):
        if isinstance(listed, str):  # Its letters would be taken for them.
            raise TypeError(f"{what} is a list of texts: {what}=[{listed!r}]")

    def register(handler: AnyHandler) -> AnyHandler:
        name = instance or f"{socket.gethostname()}-{getattr(handler, '__name__', provider)}"
        presence: dict[str, Any] = {
            "instance": re.sub(r"[^A-Za-z0-9._:-]", "-", name)[:128],
            "provider": provider,
            "concurrency": concurrency,
            "tags": ",".join(tags),
            "version": __version__,
        }
        offered = {"models": list(models), "apis": list(apis), "tier": tier}
        presence.update({name: value for name, value in offered.items() if value})
        _workers.append(Worker(handler, presence, process))
        main_file = getattr(handler, "__globals__", {}).get("__file__")
        if handler.__module__ == "__main__" and main_file and len(_workers) == 1:
            atexit.register(_run_again, os.path.abspath(main_file))
        return handler

    return register


def run(url: str | None = None, key: str | None = None) -> None:
    """Runs every worker of the program until SIGTERM or SIGINT, which drain them. `--once` runs one job alone, and
    `--help` none."""
    global _has_run
    _has_run = True
    if _is_handlers_process():
        return
    if "--help" in sys.argv:
        print(_USAGE)
        return
    if "--once" in sys.argv:
        sys.exit(_once(sys.argv[sys.argv.index("--once") + 1 :]))
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGINT"):
            signal.signal(getattr(signal, name), _on_signal)
    _serve(url, key)


def _is_handlers_process() -> bool:
    """A process of `process=True`. It imports the program before its parent is set: `_inheriting` tells of it then."""
    return multiprocessing.parent_process() is not None or hasattr(multiprocessing.current_process(), "_inheriting")


def _serve(url: str | None, key: str | None) -> None:
    log_to_stderr()
    try:
        api = Api(url, key)
    except ValueError as error:
        sys.exit(f"signalbox: {error}")
    if not _workers:
        sys.exit("signalbox: no function has @worker(provider=…)")
    names = [_own_name(one.instance, api.url) for one in _workers]
    for one in _workers:
        log.info("%s serves %s, %d at a time, for %s", one.instance, one.presence["provider"], one.concurrency, api.url)
        one.start(api)
    threading.Thread(target=_compare_versions, args=(api,), daemon=True).start()
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


def _compare_versions(api: Api) -> None:
    """An older worker still works, so this only warns."""
    try:
        version = api.call("GET", "/health", needs=["version"], timeout=3)["version"]
    except Problem:
        return
    if version != __version__:
        same = f"pip install {api.url}/signalbox-{version}-py3-none-any.whl has the same version"
        log.warning("this is version %s, the coordinator is %s: %s", __version__, version, same)


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
    if os.fstat(held).st_uid != os.getuid():
        return held  # Another user made it, and may hold it for ever.
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
    start = f"import sys; sys.path.insert(0, {home!r}); from signalbox._program import run_file; run_file()"
    command = [sys.executable, "-c", start, main_file, *sys.argv[1:]]
    if not _HAS_EXEC:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os._exit(subprocess.call(command))
    os.execv(sys.executable, command)


def run_file() -> None:
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
    log_to_stderr()
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
    plain: Job = dict.fromkeys(("input", "provider", "model", "api", "timeout_seconds"))
    whole: Job = {"id": "once", "lease": 1, "attempt": 1, "attempts": 0, "metadata": {}, "tags": [], "files": []}
    job: Job = {**whole, **plain, "stream": False, **given}
    ctx = Context(job)
    kind, body = outcome_of(named[0].handler, job, ctx)
    report: dict[str, Any] = {"status": "completed" if kind == "complete" else "failed", **body}
    print(json.dumps(report if ctx._progress is None else {**report, "progress": ctx._progress}))
    return 0 if kind == "complete" else 1
