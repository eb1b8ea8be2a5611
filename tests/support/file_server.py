"""A folder over HTTP on loopback, as a web server would give it."""

import http.server
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.loopback import run_server


class FolderHandler(http.server.SimpleHTTPRequestHandler):
    """Answers with files and their time of change; `/to/...` redirects; HEAD is refused."""

    def log_message(self, *_: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self.send_error(403)

    def do_GET(self) -> None:
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to"))
            self.end_headers()
        else:
            super().do_GET()


def serve_folder(folder: Path) -> AbstractContextManager[str]:
    """Give the address of a server for `folder`, which ends with the block."""
    handler = partial(FolderHandler, directory=str(folder))
    return run_server(http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler))
