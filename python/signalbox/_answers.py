"""Text as an answer of a client's API: the events around it, and the whole answer."""

from __future__ import annotations

import base64
import re
import struct
import time
import uuid
from collections.abc import Mapping
from typing import Any, Union

Event = Union[Mapping[str, Any], str]  # What stands behind `data:`.
Usage = Mapping[str, int]

NAMED_EVENTS = ("messages", "responses")
"""APIs whose clients find an event by its name, which is its type."""
DONE = "[DONE]"
ENDS_WITH_DONE = ("chat/completions", "completions")
ANSWERS_IN_TEXT = ("audio/transcriptions", "audio/translations")
"""APIs of which a plain text is an answer as it is."""
ANSWER_HAS = {
    "chat/completions": ("choices",),
    "completions": ("choices",),
    "messages": ("content",),
    "responses": ("output",),
    "embeddings": ("data",),
    "rerank": ("results", "data"),
    "images/generations": ("data",),
    "images/edits": ("data",),
    "audio/transcriptions": ("text", "segments"),
    "audio/translations": ("text", "segments"),
    "audio/speech": ("audio", "data", "url"),
    "messages/count_tokens": ("input_tokens",),
}
"""Of which an answer has one, also an answer that says nothing."""


class TextAnswer:
    """`counted` is None where nobody has counted."""

    def __init__(self, prefix: str, model: str) -> None:
        self.id, self.model, self.created = f"{prefix}{uuid.uuid4().hex}", model, int(time.time())

    def start(self) -> list[Event]:
        raise NotImplementedError

    def piece(self, text: str) -> Event:
        raise NotImplementedError

    def end(self, text: str, counted: Usage | None) -> list[Event]:
        raise NotImplementedError

    def whole(self, text: str, counted: Usage | None) -> dict[str, Any]:
        raise NotImplementedError


class _Chat(TextAnswer):
    prefix, chunks, wholes = "chatcmpl-", "chat.completion.chunk", "chat.completion"

    def __init__(self, model: str) -> None:
        super().__init__(self.prefix, model)

    def start(self) -> list[Event]:
        return [self._chunk({"delta": {"role": "assistant", "content": ""}}, None)]

    def piece(self, text: str) -> Event:
        return self._chunk({"delta": {"content": text}}, None)

    def end(self, text: str, counted: Usage | None) -> list[Event]:
        usage = [self._head(self.chunks, [], counted)] if counted else []
        return [self._chunk(self._nothing(), "stop"), *usage, DONE]

    def whole(self, text: str, counted: Usage | None) -> dict[str, Any]:
        choice = {"index": 0, **self._said(text), "logprobs": None, "finish_reason": "stop"}
        return self._head(self.wholes, [choice], counted)

    def _nothing(self) -> dict[str, Any]:
        return {"delta": {}}

    def _said(self, text: str) -> dict[str, Any]:
        return {"message": {"role": "assistant", "content": text}}

    def _chunk(self, said: Mapping[str, Any], reason: str | None) -> dict[str, Any]:
        choice = {"index": 0, "logprobs": None, **said, "finish_reason": reason}
        return self._head(self.chunks, [choice], None)

    def _head(self, kind: str, choices: list[Any], counted: Usage | None) -> dict[str, Any]:
        told = {"id": self.id, "object": kind, "created": self.created, "model": self.model, "choices": choices}
        if not counted:
            return told
        given, written = counted["input_tokens"], counted["output_tokens"]
        usage = {"prompt_tokens": given, "completion_tokens": written, "total_tokens": given + written}
        return {**told, "usage": usage}


class _Completion(_Chat):
    prefix, chunks, wholes = "cmpl-", "text_completion", "text_completion"

    def start(self) -> list[Event]:
        return []

    def piece(self, text: str) -> Event:
        return self._chunk(self._said(text), None)

    def _nothing(self) -> dict[str, Any]:
        return self._said("")

    def _said(self, text: str) -> dict[str, Any]:
        return {"text": text}


class _Message(TextAnswer):
    def __init__(self, model: str) -> None:
        super().__init__("msg_", model)

    def start(self) -> list[Event]:
        message = {**self._message([], None), "stop_reason": None}
        block = {"type": "text", "text": ""}
        return [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
        ]

    def piece(self, text: str) -> Event:
        return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}

    def end(self, text: str, counted: Usage | None) -> list[Event]:
        delta = {"stop_reason": "end_turn", "stop_sequence": None}
        return [
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": delta, "usage": _tokens(counted)},
            {"type": "message_stop"},
        ]

    def whole(self, text: str, counted: Usage | None) -> dict[str, Any]:
        return self._message([{"type": "text", "text": text}], counted)

    def _message(self, content: list[Any], counted: Usage | None) -> dict[str, Any]:
        ended = {"stop_reason": "end_turn", "stop_sequence": None, "usage": _tokens(counted)}
        return {"id": self.id, "type": "message", "role": "assistant", "model": self.model, "content": content, **ended}


class _Response(TextAnswer):
    def __init__(self, model: str) -> None:
        super().__init__("resp_", model)
        self._item = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant"}
        self._at = {"item_id": self._item["id"], "output_index": 0, "content_index": 0}
        self._number = -1

    def start(self) -> list[Event]:
        begun = {**self._response([], None), "status": "in_progress", "usage": None}
        item = {**self._item, "status": "in_progress", "content": []}
        return [
            self._event("created", response=begun),
            self._event("in_progress", response=begun),
            self._event("output_item.added", output_index=0, item=item),
            self._event("content_part.added", **self._at, part=_part("")),
        ]

    def piece(self, text: str) -> Event:
        return self._event("output_text.delta", **self._at, delta=text, logprobs=[])

    def end(self, text: str, counted: Usage | None) -> list[Event]:
        whole = self.whole(text, counted)
        return [
            self._event("output_text.done", **self._at, text=text, logprobs=[]),
            self._event("content_part.done", **self._at, part=_part(text)),
            self._event("output_item.done", output_index=0, item=whole["output"][0]),
            self._event("completed", response=whole),
        ]

    def whole(self, text: str, counted: Usage | None) -> dict[str, Any]:
        return self._response([{**self._item, "status": "completed", "content": [_part(text)]}], counted)

    def _response(self, output: list[Any], counted: Usage | None) -> dict[str, Any]:
        tokens = _tokens(counted)
        usage = {
            **tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens["input_tokens"] + tokens["output_tokens"],
        }
        head = {"id": self.id, "object": "response", "created_at": self.created, "model": self.model}
        return {**head, "status": "completed", "error": None, "output": output, "usage": usage}

    def _event(self, kind: str, **fields: Any) -> Event:
        self._number += 1
        return {"type": f"response.{kind}", "sequence_number": self._number, **fields}


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []}


def _tokens(counted: Usage | None) -> dict[str, int]:
    counts = counted or {}
    return {name: counts.get(name, 0) for name in ("input_tokens", "output_tokens")}


_FORMS = {"chat/completions": _Chat, "completions": _Completion, "messages": _Message, "responses": _Response}


def text_answer_of(job: Mapping[str, Any]) -> TextAnswer | None:
    """None for ordinary jobs, and for APIs whose answers are no text."""
    form = _FORMS.get(job.get("api") or "")
    return form(job.get("model") or "") if form else None


def is_answer_of(api: str, result: Any) -> bool:
    """An object of another kind would pass for an answer that says nothing. Of some APIs it is the list itself."""
    if isinstance(result, list):
        return api == "rerank"
    names = ANSWER_HAS.get(api)
    return isinstance(result, dict) and (names is None or any(result.get(name) is not None for name in names))


def vectors_as_asked(body: Any, answer: Any) -> Any:
    """The numbers that an author wrote as a list: some clients that asked for base64 read a list as an empty vector."""
    is_asked = isinstance(body, Mapping) and body.get("encoding_format") == "base64"
    if not is_asked or not isinstance(answer, dict) or not isinstance(answer.get("data"), list):
        return answer
    return {**answer, "data": [_in_base64(one) for one in answer["data"]]}


def _fits_into_four_bytes(value: Any) -> bool:
    """Nor is NaN a number of an answer, in whatever form."""
    return isinstance(value, (int, float)) and abs(value) < 3.4e38


def _in_base64(one: Any) -> Any:
    vector = one.get("embedding") if isinstance(one, dict) else None
    if not isinstance(vector, list) or not all(_fits_into_four_bytes(value) for value in vector):
        return one
    return {**one, "embedding": base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()}


_COUNTS = {"input_tokens": ("input_tokens", "prompt_tokens"), "output_tokens": ("output_tokens", "completion_tokens")}


def counted_in(answer: Any) -> dict[str, int] | None:
    """What an API's answer says of its tokens, as a job counts them."""
    told = answer.get("usage") if isinstance(answer, dict) else None
    if not isinstance(told, dict):
        return None
    counts = {ours: next((told[name] for name in names if name in told), 0) for ours, names in _COUNTS.items()}
    return counts if all(type(count) is int and count >= 0 for count in counts.values()) else None


def asks_several(job: Mapping[str, Any]) -> bool:
    """Whether its answer has a choice for each of several prompts, none of which is what the user said last."""
    body = job.get("input")
    prompt = body.get("prompt") if job.get("api") == "completions" and isinstance(body, Mapping) else None
    return isinstance(prompt, list) and len(prompt) > 1 and not isinstance(prompt[0], int)


_REMINDER = re.compile(r"\s*<system-reminder>.*</system-reminder>\s*", re.DOTALL)


def _texts_of(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
    return [text for text in texts if isinstance(text, str) and not _REMINDER.fullmatch(text)]


def last_user_text(body: Any) -> str:
    """All that the user wrote last in a request, without reminders of its client; the job itself has the first 2 KiB."""
    if not isinstance(body, Mapping):
        return ""
    turns = body.get("messages") or body.get("input") or body.get("prompt")
    for turn in reversed(turns if isinstance(turns, list) else [turns]):
        if isinstance(turn, str) and turn:
            return turn
        if isinstance(turn, Mapping) and turn.get("role") == "user":
            if said := "\n".join(_texts_of(turn.get("content"))):
                return said
    return ""
