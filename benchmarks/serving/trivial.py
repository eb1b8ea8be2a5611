"""A server that only answers `label`: it shows the limit of the load generator itself.

python benchmarks/serving/trivial.py PORT LABEL
"""

import asyncio
import json
import sys

import uvloop


class Trivial(asyncio.Protocol):
    """Answers each request, which must come in one piece, with the same bytes."""

    answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer."""
        self.transport.write(self.answer)


async def main(port: int, label: str) -> None:
    """Serve until killed."""
    body = json.dumps({"label": label}).encode()
    Trivial.answer = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    server = await asyncio.get_running_loop().create_server(Trivial, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), sys.argv[2]))
