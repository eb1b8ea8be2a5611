"""A real HTTP server that speaks chat completions, and misbehaves as the name of a model says."""

import json
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.loopback import run_server

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
PATIENCE_S = 30.0  # the longest that a behaviour holds a connection


@dataclass
class ReceivedRequest:
    """What came, in the order in which requests began."""

    model: str
    body: dict[str, Any]
    authorization: str
    path: str


@dataclass
class ChatServer:
    """Behaviours by model: each request takes the next, the last one stays."""

    url: str = ""
    scripts: dict[str, list[str]] = field(default_factory=dict)
    requests: list[ReceivedRequest] = field(default_factory=list)
    running_of: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    most_running_of: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    release: threading.Event = field(default_factory=threading.Event)  # lets `hold` answer
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, model: str) -> int:
        """How many requests came for a model."""
        return sum(request.model == model for request in self.requests)

    def next_behaviour(self, model: str) -> str:
        """The behaviour for the next request; without a script, the model's name is its answer."""
        script = self.scripts.get(model, [f"say {model}"])
        return script.pop(0) if len(script) > 1 else script[0]


@contextmanager
def run_chat_server(**scripts: list[str]) -> Iterator[ChatServer]:
    """Run a server; `scripts` maps models to behaviours."""
    chat = ChatServer(scripts=dict(scripts))
    handler = type("Handler", (ChatHandler,), {"chat": chat})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    with run_server(server) as address:
        chat.url = f"{address}/v1"
        try:
            yield chat
        finally:
            chat.release.set()


class ChatHandler(BaseHTTPRequestHandler):
    """One connection."""

    chat: ChatServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"]))
        body = json.loads(raw)
        model = body["model"]
        chat = self.chat
        with chat.lock:
            auth = self.headers.get("authorization", "")
            chat.requests.append(ReceivedRequest(model, body, auth, self.path))
            behaviour = chat.next_behaviour(model)
            chat.running_of[model] += 1
            chat.most_running_of[model] = max(chat.most_running_of[model], chat.running_of[model])
        chat.arrived.release()
        try:
            name, _, argument = behaviour.partition(" ")
            getattr(self, f"do_{name.replace('-', '_')}")(argument)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with chat.lock:
                chat.running_of[model] -= 1

    def log_message(self, *_: Any) -> None:
        """Be silent."""

    def send(self, status: int, raw: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(raw)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(raw)

    def build(self, text: Any, usage: Any = USAGE, finish: str = "stop") -> bytes:
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return json.dumps(
            {"object": "chat.completion", "choices": [choice], "usage": usage}
        ).encode()

    def do_say(self, text: str) -> None:
        self.send(200, self.build(text))

    def do_hold(self, text: str) -> None:
        """Answer once the test releases it."""
        self.chat.release.wait(PATIENCE_S)
        self.send(200, self.build(text))

    def do_slow(self, text: str) -> None:
        """Give others the time to come too."""
        time.sleep(0.05)
        self.send(200, self.build(text))

    def do_no_usage(self, text: str) -> None:
        self.send(200, self.build(text, None))

    def do_cut(self, text: str) -> None:
        self.send(200, self.build(text, finish="length"))

    def do_status(self, argument: str) -> None:
        status, _, retry_after = argument.partition(" ")
        headers = {"retry_after": retry_after} if retry_after else {}
        self.send(int(status), b'{"error": {"message": "try\\u001b[31m later"}}', **headers)

    def do_echo_key(self, status: str) -> None:
        """Repeat the key in the error, as some servers do."""
        key = self.headers.get("authorization", "")
        raw = json.dumps({"error": {"message": f"Incorrect API key provided: {key}"}}).encode()
        self.send(int(status), raw)

    def do_close_mid_body(self, _: str) -> None:
        self.send_response(200)
        self.send_header("content-length", "1000")
        self.end_headers()
        self.wfile.write(b'{"choices": [')
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def do_drip(self, _: str) -> None:
        """A byte now and then, for ever."""
        self.send_response(200)
        self.send_header("content-length", "100000")
        self.end_headers()
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and not self.chat.release.wait(0.02):
            self.wfile.write(b" ")
            self.wfile.flush()

    def do_silent(self, _: str) -> None:
        self.chat.release.wait(PATIENCE_S)
        self.close_connection = True

    def do_not_json(self, _: str) -> None:
        self.send(200, b"<html>gateway</html>", "text/html")

    def do_raw(self, text: str) -> None:
        self.send(200, text.encode())

    def do_giant(self, _: str) -> None:
        self.send_response(200)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        block = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        while not self.chat.release.is_set():
            self.wfile.write(block)

    def do_redirect(self, target: str) -> None:
        self.send(307, b"", location=target)
