"""The client."""

from __future__ import annotations

import http.client
import json
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

from ._requests import (
    BYTES_LIKE,
    CLAIM_WAIT_SECONDS,
    Api,
    Problem,
    backoff,
    fresh_key,
    path_with,
    send_file,
    while_away,
)

FINAL = ("completed", "failed", "cancelled")
MAX_EMPTY_TRIES = 5  # Of a stream, in a row without an event.


class Signalbox:
    """A client: `Signalbox().run("hi", model="llama3.2")["result"]`."""

    def __init__(self, url: str | None = None, key: str | None = None) -> None:
        self._api = Api(url, key)
        self.files = Files(self._api)

    def run(self, prompt: str, **fields: Any) -> dict[str, Any]:
        """Creates a job and waits until it is completed, failed or cancelled. Returns the job."""
        return self.wait(self._create({"prompt": prompt, **fields})["id"])

    def wait(self, job_id: str) -> dict[str, Any]:
        """Waits until a job is final, also while the service is away."""
        while True:
            path = f"/api/jobs/{job_id}?wait={CLAIM_WAIT_SECONDS}"
            job: dict[str, Any] = while_away(lambda: self._api.call("GET", path, needs=("status",)))
            if job["status"] in FINAL:
                return self._with_result(job)

    def _with_result(self, job: dict[str, Any]) -> dict[str, Any]:
        """A result over 1 MiB is a file, which is read as if it stood in the job."""
        kept = job.get("result_file")
        if kept is None:
            return job
        path = f"/api/files/{kept['id']}/content"
        return {**job, "result": while_away(lambda: self._api.call("GET", path, timeout=600))}

    def stream(self, prompt: str, **fields: Any) -> Iterator[Any]:
        """The answer while it is written: text, and other parts as they are. Raises Problem if the job fails."""
        job_id = self._create({"prompt": prompt, **fields, "stream": True})["id"]
        path, after, has_written, is_over, failures = f"/api/jobs/{job_id}/stream", "", False, False, 0
        while failures < MAX_EMPTY_TRIES:
            headers = {"Last-Event-ID": after} if after else {}
            try:
                with while_away(lambda: self._api.open("GET", path, headers=headers, timeout=120)) as answer:
                    for event, event_id, data in _events(answer):
                        after, failures = event_id or after, 0
                        if event == "chunk":
                            has_written = True
                            yield data["text"] if isinstance(data, dict) and "text" in data else data
                        elif event == "end":
                            is_over = True
                            break
            except (OSError, http.client.HTTPException):
                pass  # It is opened again after the last event.
            if is_over:
                yield from self._end_of(job_id, has_written)
                return
            failures += 1
            time.sleep(backoff(failures))
        raise Problem("unreachable", f"the stream of job {job_id} broke off: read the job itself")

    def jobs(self, **query: Any) -> Iterator[dict[str, Any]]:
        """The jobs of `GET /api/jobs`, page by page, newest first: `jobs(status="failed", model="whisper")`."""
        while True:
            page = self._api.insist("GET", path_with("/api/jobs", **query), needs=("jobs",))
            yield from page["jobs"]
            if not page.get("next_cursor"):
                return
            query = {**query, "cursor": page["next_cursor"]}
            query.pop("offset", None)

    def _create(self, job: Mapping[str, Any]) -> Any:
        return self._api.insist("POST", "/api/jobs", job, needs=("id",), headers={"Idempotency-Key": fresh_key()})

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
    def __init__(self, api: Api) -> None:
        self._api = api

    def upload(
        self,
        content: str | os.PathLike[str] | bytes | bytearray | memoryview,
        name: str | None = None,
        content_type: str = "application/octet-stream",
        **query: Any,
    ) -> dict[str, Any]:
        """Uploads bytes, or the file at a path. Returns the file, whose `id` goes into a job's `files`."""
        sent: bytes | str = bytes(content) if isinstance(content, BYTES_LIKE) else os.fspath(content)
        called = name or ("file" if isinstance(sent, bytes) else os.path.basename(sent))
        return send_file(self._api, path_with("/api/files", name=called, **query), sent, content_type)


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
