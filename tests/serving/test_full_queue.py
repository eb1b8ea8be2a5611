"""A server whose queue is full refuses what asks the model, and answers everything else."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.serving.lines import MOODY, Lines, Server, serving
from tests.support.serving.moody import GO_FILE, WAITS, WAITS_FILE

TOKEN = {"authorization": "Bearer a-token-of-this-test"}


@pytest.fixture(scope="module")
def server(registered: Lines) -> Iterator[Server]:
    """Its model waits for a file, and its queue of one row is full."""
    waits, go = registered.path / WAITS_FILE, registered.path / GO_FILE
    for left in (waits, go):  # by a test of the same registry
        left.unlink(missing_ok=True)
    (registered.path / "token").write_text("a-token-of-this-test")
    limits = ["--limit=queue_rows=1", "--limit=deadline_s=900", "--limit=predict_timeout_s=900"]
    with (
        serving(registered, "--token-file=token", *limits, uri=f"models:/line/{MOODY}") as server,
        ThreadPoolExecutor(3) as pool,
    ):
        try:
            asked = [pool.submit(server.predict, WAITS, **TOKEN)]
            server.wait(waits.exists)
            asked += [pool.submit(server.predict, 1.0, **TOKEN) for _ in range(2)]
            server.wait(lambda: any(one.done() for one in asked))  # it was refused
            yield server
        finally:
            go.touch()
        assert sorted(one.result()[0] for one in asked) == [200, 200, 429]
    waits.unlink()
    go.unlink()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"} | TOKEN, 421),
        ({}, 401),
        ({"origin": "https://evil.example"} | TOKEN, 403),
        ({"content_encoding": "gzip"} | TOKEN, 415),
        (TOKEN, 429),
    ],
)
def test_a_full_queue_hides_no_other_error(server: Server, headers: dict, status: int) -> None:
    got, found, _ = server.predict(1.0, **headers)
    assert got == status
    assert (found.get("retry-after") == "1") == (status == 429)
    assert server.ask("GET", "/ping")[0] == 200
