"""Runs a handler, of whatever kind, and makes a report of what it comes to."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import os
import re
import traceback
from collections.abc import Callable
from typing import Any

from ._context import MAX_RESULT_BYTES, Context, Fail, Job, Outcome, Retry
from ._log import log

MAX_MESSAGE = 8000
MAX_RETRY_AFTER_SECONDS = 86_400.0

# The job is what a handler says that it is: a dict, a Mapping, a TypedDict.
Handler = Callable[[Any, Context], Any]


def outcome_of(handler: Handler, job: Job, ctx: Context) -> Outcome:
    """Runs the handler: ("complete" | "fail" | "cancelled", the body of the report)."""
    try:
        result = _finished(handler(job, ctx), ctx)
        if result is None and ctx._texts:
            result = "".join(ctx._texts)
        result = ctx._answer(result)
        try:
            size = len(json_of(result))
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


def json_of(value: Any) -> bytes:
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
        status = {"status": error._status} if error._status else {}
        return {"code": code or "failed", "message": _text_of(error.message)[:MAX_MESSAGE], **status, "retryable": False}
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
