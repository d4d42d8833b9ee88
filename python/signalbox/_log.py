"""What a worker says for people."""

from __future__ import annotations

import logging
import re

log = logging.getLogger("signalbox")

# Control characters but line breaks and tabs, and overrides of the direction of writing: a handler's error may repeat a
# prompt, which a terminal must not obey.
_UNSAFE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


class _Printable(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return _UNSAFE.sub(" ", super().format(record))


def log_to_stderr() -> None:
    if not log.handlers and not logging.getLogger().handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(_Printable("signalbox: %(message)s"))
        logging.basicConfig(level=logging.INFO, handlers=[handler])
