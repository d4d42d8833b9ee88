// The program of `python.test.ts`: workers with every kind of handler, each asked for by its prompt.

export const WORKER = `
import asyncio, collections, datetime, decimal, functools, os, sys, threading, time, urllib.request
from signalbox import Fail, Retry, run, worker

@worker(provider="py", concurrency=3, tags=["cpu"])
def main(job, ctx):
    what = job["prompt"]
    if what == "generator": return generated(ctx)
    if what == "async": return slept()
    if what == "parts": return parts()
    if what == "retry" and job["attempt"] == 1: raise Retry("busy", after=1)
    if what == "file":
        data = urllib.request.urlopen(ctx.files[0]["url"]).read()
        ctx.file("loud.txt", bytearray(data.upper()))
        return len(data)
    if what == "large": return "é" * 1_000_000
    if what == "fail": raise Fail("bad_input", "no")
    if what == "bug": return {}["x"]
    if what == "number": raise Fail(404, ValueError("not there"))
    if what == "control": raise Fail("a\\nb", None)
    if what == "spent":
        ctx.usage(-1, 2)
        raise Fail("mine", "no")
    if what == "cancels itself": raise asyncio.CancelledError
    if what == "wordless": raise Wordless
    if what == "deep":
        nested = 1
        for _ in range(100): nested = [nested]
        return nested
    if what == "threads":
        threads = [threading.Thread(target=lambda: [ctx.emit("x" * 50_000) for _ in range(20)]) for _ in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        return "written"
    if what == "exit": sys.exit(3)
    if what == "set": return {1}
    if what == "nan": return {"loss": float("nan")}
    if what == "cost": ctx.cost(float("nan"))
    if what == "tokens": ctx.usage(1.5, 2)
    if what == "numbers":
        ctx.usage(Whole(), 2, cached_input_tokens=1, total_tokens=5, reasoning_tokens=None)
        ctx.cost(decimal.Decimal("0.25"))
        ctx.progress(float("nan"))
        return "counted"
    if what == "compute":
        until, count = time.monotonic() + 9, 0
        while time.monotonic() < until: count += 1
        return "computed"
    if what in ("slow", "still"):
        if what == "slow": ctx.progress(0.4, "half")
        while not ctx.cancelled: time.sleep(0.05)
        return "late"
    return what.upper()

class Wordless(Exception):
    def __str__(self): raise RuntimeError("none")

class Whole:
    def __index__(self): return 3

def generated(ctx):
    for word in ("a ", "b ", "c"): yield word
    ctx.usage(1, 2)
    ctx.cost(0.5)

async def slept():
    await asyncio.sleep(0.05)
    return {"slept": True}

async def parts():
    yield "x"
    yield "y"

def decorated(handler):
    @functools.wraps(handler)
    def around(*args): return handler(*args)
    return around

@decorated
@worker(provider="wrapped", process=True)
def wrapped(job, ctx): return "never"

@worker(provider="far", process=True)
def far(job, ctx):
    if job["prompt"] in ("crash", "hang"):
        ctx.usage(5, 2)
        ctx.cost(0.5)
        ctx.progress(0.5)
    if job["prompt"] == "crash": os._exit(7)
    if job["prompt"] == "hang": time.sleep(600)
    if job["prompt"] == "half": ctx.progress("half")
    if job["prompt"] == "date": ctx.emit({"at": datetime.date.today()})
    if job["prompt"] == "number": ctx.emit(5)
    if job["prompt"] == "missing": ctx.file("a.txt", "not-there.txt")
    if job["prompt"] == "counts":
        counts = collections.defaultdict(lambda: 0)
        counts["a"] += 1
        return counts
    ctx.emit("from ")
    ctx.emit(job["prompt"])
`;
