"""One worker: it claims jobs and runs them."""

from __future__ import annotations

import threading
import time
import urllib.parse
from typing import Any

from ._answers import last_user_text
from ._child import GRACE_SECONDS, Child
from ._context import Job, Outcome
from ._log import log
from ._outcome import Handler, outcome_of
from ._requests import CLAIM_WAIT_SECONDS, Api, Problem, backoff
from ._run import Run

BEAT_SECONDS = 5.0
PRESENCE_FIELDS = ("heartbeat_interval_seconds", "killswitch", "halted", "jobs")


class Worker:
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
        self._runs: dict[str, Run] = {}
        self._settled: dict[str, int] = {}
        self._children: list[Child] = []
        self._deaths = 0
        self._unavailable: str | None = None
        # A presence report must not overtake a start: a running job that is missing from it would count as lost.
        self._order = threading.RLock()
        self._changed = threading.Condition()
        self._news = threading.Event()

    def start(self, api: Api) -> None:
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
                if run._spent:
                    # Refused, because the lease is gone; what the job spent is counted.
                    error = {"code": "halted", "message": reason, "retryable": True}
                    told = {**run.lease, **run._spent, "error": error}
                    self._api.call("POST", f"{run.path}/fail", told, timeout=5)
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
                time.sleep(backoff(hasty))

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
            # One whose report has come meanwhile is no longer its own, and has not been taken back.
            if is_halted or (job_id in answer["halted"] and not run.is_reporting):
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
            run = Run(job, self._api, self._news.set)
            if self.is_draining or len(self._runs) >= self.concurrency:
                told = ("release", {"reason": "no free place"}, lambda: True)
                threading.Thread(target=run.report, args=told, daemon=True).start()
                return
            self._runs[job_id] = run
            self._news.set()
        threading.Thread(target=self._work, args=(job, run), name=f"job {job_id}", daemon=True).start()

    def _work(self, job: Job, run: Run) -> None:
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

    def _begin(self, job: Job, run: Run) -> bool:
        try:
            # It is among the runs, so that each presence report from now on names it: nothing overtakes it.
            self._api.insist("POST", f"{run.path}/start", run.lease, tries=2, timeout=10)
            if job.get("input") is None and job.get("input_url"):
                run._job = {**job, "input": self._api.insist("GET", job["input_url"])}
            return True
        except Problem as problem:
            run.cancel(str(problem))
            return False

    def _attempt(self, job: Job, run: Run) -> Outcome:
        body = run._job.get("input")
        prompt = (job.get("api") and last_user_text(body)) or job["prompt"]
        job = {**job, "input": body, "prompt": prompt}
        if not self.is_process:
            return outcome_of(self.handler, job, run)
        child = None
        try:
            child = self._children.pop() if self._children else Child(self.handler)
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
            return "fail", {**run._spent, "error": {"code": "process_ended", "message": message, "retryable": True}}

    def _died(self, how: str) -> None:
        """Rests for a while, so that a handler that cannot work at all does not spend every job's attempts."""
        self._deaths += 1
        if self._deaths < 3:
            return
        self._unavailable = f"the handler's process failed {self._deaths} times in a row: it {how}"
        rest = threading.Timer(min(30.0, 2.0 ** (self._deaths - 2)), self._recover)
        rest.daemon = True  # A program that ends does not wait for it.
        rest.start()
        self._report_presence()

    def _recover(self) -> None:
        self._unavailable = None
        self._report_presence()
