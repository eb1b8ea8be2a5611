"""What the server says, one JSON object a line: no text of a client or a model can pass for a line of its own."""

import json
import logging
from datetime import UTC, datetime
from typing import Any


class OneLine(logging.Formatter):
    """A record as one line of ASCII; control characters, ANSI codes among them, are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        return json.dumps(told)


CONFIG: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": OneLine}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
}
