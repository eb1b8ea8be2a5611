"""The server's log: one JSON object per line, so that no text of a client can forge a line."""

import json
import logging
from datetime import UTC, datetime
from typing import Any


class JsonLineFormatter(logging.Formatter):
    """Format a record as one line of ASCII; control characters and ANSI codes are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        timestamp = datetime.fromtimestamp(record.created, UTC)
        fields = {
            "time": timestamp.isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields)


CONFIG: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": JsonLineFormatter}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
}
