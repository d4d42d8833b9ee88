"""What a worker says for people."""

from __future__ import annotations

import logging

log = logging.getLogger("signalbox")


def log_to_stderr() -> None:
    if not log.handlers and not logging.getLogger().handlers:
        logging.basicConfig(level=logging.INFO, format="signalbox: %(message)s")
