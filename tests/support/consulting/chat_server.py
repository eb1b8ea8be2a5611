"""A real HTTP server that speaks chat completions, and misbehaves as the name of a model says."""

import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.support.loopback import Answer, Request, serve_answers

USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
PATIENCE_S = 30.0  # the longest that a behaviour holds a connection
BLOCK = b"10000\r\n" + b" " * 0x10000 + b"\r\n"


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

    def answer(self, request: Request) -> Answer | None:
        """Behave as the script of the model says."""
        body = json.loads(request.body)
        model, key = body["model"], request.headers.get("authorization", "")
        with self.lock:
            self.requests.append(ReceivedRequest(model, body, key, request.path))
            script = self.scripts.get(model, [f"say {model}"])
            behaviour = script.pop(0) if len(script) > 1 else script[0]
            self.running_of[model] += 1
            self.most_running_of[model] = max(self.most_running_of[model], self.running_of[model])
        self.arrived.release()
        try:
            return self.behave(*behaviour.partition(" ")[::2], key)
        finally:
            with self.lock:
                self.running_of[model] -= 1

    def behave(self, name: str, argument: str, key: str) -> Answer | None:
        """Answer, or do what no server should."""
        match name:
            case "say":
                return complete(argument)
            case "hold":  # until the test releases it
                self.release.wait(PATIENCE_S)
                return complete(argument)
            case "slow":  # others have the time to come too
                time.sleep(0.05)
                return complete(argument)
            case "no-usage":
                return complete(argument, usage=None)
            case "cut":
                return complete(argument, finish="length")
            case "status":
                status, _, seconds = argument.partition(" ")
                headers = {"Retry-After": seconds} if seconds else {}
                error = b'{"error": {"message": "try\\u001b[31m later"}}'
                return Answer(error, int(status), headers)
            case "echo-key":  # as some servers do
                error = {"message": f"Incorrect API key provided: {key}"}
                return Answer(json.dumps({"error": error}).encode(), int(argument))
            case "close-mid-body":
                return Answer(b'{"choices": [', headers={"Content-Length": "1000"})
            case "drip":
                return Answer(self.drip(), headers={"Content-Length": "100000"})
            case "giant":
                return Answer(self.swell(), headers={"Transfer-Encoding": "chunked"})
            case "not-json":
                return Answer(b"<html>gateway</html>", headers={"Content-Type": "text/html"})
            case "raw":
                return Answer(argument.encode())
            case "redirect":
                return Answer(status=307, headers={"Location": argument})
        assert name == "silent"
        self.release.wait(PATIENCE_S)
        return None

    def drip(self) -> Iterator[bytes]:
        """A byte now and then."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and not self.release.wait(0.02):
            yield b" "

    def swell(self) -> Iterator[bytes]:
        """Blanks without an end."""
        while not self.release.is_set():
            yield BLOCK


def complete(text: str, usage: Any = USAGE, finish: str = "stop") -> Answer:
    """Answer with a text as a sound server does."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    completion = {"object": "chat.completion", "choices": [choice], "usage": usage}
    return Answer(json.dumps(completion).encode(), headers={"Content-Type": "application/json"})


@contextmanager
def run_chat_server(**scripts: list[str]) -> Iterator[ChatServer]:
    """Run a server; `scripts` maps models to behaviours."""
    chat = ChatServer(scripts=dict(scripts))
    with serve_answers(chat.answer) as address:
        chat.url = f"{address}/v1"
        try:
            yield chat
        finally:
            chat.release.set()
