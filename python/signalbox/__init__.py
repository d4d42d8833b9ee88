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

from ._client import Signalbox
from ._context import Cancelled, Context, Fail, Retry
from ._program import run, worker
from ._requests import Problem
from ._version import __version__

__all__ = ["Cancelled", "Context", "Fail", "Problem", "Retry", "Signalbox", "__version__", "run", "worker"]
