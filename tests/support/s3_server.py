"""An S3 server in a process of its own, and this process's client set up for it."""

import importlib.util
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import fsspec
import pytest
from tests.support.loopback import find_free_port, wait_for_server


@contextmanager
def serve_bucket(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Give the fsspec filesystem of a server with an empty bucket, which ends with the block.

    Skips where s3fs (requirements-remotes.lock) or moto's server is not installed.
    """
    program = shutil.which("moto_server")
    if program is None or importlib.util.find_spec("s3fs") is None:
        pytest.skip("no S3 here: s3fs is not installed, or moto_server is not on PATH")
    port = find_free_port()
    address = f"http://127.0.0.1:{port}"
    variables = {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_MAX_ATTEMPTS": "1",
        "NO_PROXY": "127.0.0.1",
    }
    for key, value in variables.items():
        monkeypatch.setenv(key, value)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen([program, "-H", "127.0.0.1", "-p", str(port)], **quiet)
    clients = fsspec.get_filesystem_class("s3")
    clients.clear_instance_cache()  # one process keeps clients of earlier servers
    try:
        wait_for_server(address)
        store = fsspec.filesystem("s3", skip_instance_cache=True, use_listings_cache=False)
        store.mkdir(name)
        yield store
    finally:
        clients.clear_instance_cache()
        server.terminate()
        server.wait(600)
