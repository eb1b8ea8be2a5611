"""What a remote source is today: the same while nothing changes, another after each change."""

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import fsspec
import huggingface_hub
import pytest
from huggingface_hub import HfApi
from tests.support.loopback import Answer, Request, serve_answers, serve_folder
from tests.support.postgres import Server, started
from tests.support.s3_server import serve_bucket
from tests.support.small_sources import CSV

from plumbline.contract import layout
from plumbline.contract.errors import DataError
from plumbline.process.files import write_json
from plumbline.sources.identities import check_recorded, look_up_identities

QUERY = "SELECT text, label FROM tickets ORDER BY id"
pytestmark = pytest.mark.usefixtures("folder")


def ask(address: str, watermark: str | None = None) -> dict[str, Any]:
    (identity,) = look_up_identities([address], watermark).values()
    return dict(identity)


def test_what_is_on_this_machine_is_left_to_dvc() -> None:
    local = ["data/raw/*.csv", "file:///t.csv", "sqlite:///t.db#SELECT 1", "hf://./set"]
    assert look_up_identities(local, None) == {}
    check_recorded(local)


def test_a_file_behind_http_is_known_by_its_validators(folder: Path) -> None:
    (folder / "a.csv").write_text(CSV)
    with serve_folder(folder) as server:
        url = f"{server}/to/a.csv?token=secret"
        before = ask(url)
        assert before == ask(url)
        assert before["source"] == f"{server}/to/a.csv"
        assert before["size"] == str(len(CSV))
        assert "last_modified" in before
        os.utime(folder / "a.csv", (0, 0))
        assert ask(url) != before
        with pytest.raises(DataError, match="the server answered 404"):
            ask(f"{server}/b.csv")
    with pytest.raises(DataError, match="cannot be fetched"):
        ask(url)


def test_objects_are_known_by_time_and_size() -> None:
    store = fsspec.filesystem("memory")
    store.pipe({"/identities/a.csv": b"a", "/identities/b.csv": b"b"})
    one, both = ask("memory://identities/a.csv"), ask("memory://identities/*.csv")
    assert (one, both) == (ask("memory://identities/a.csv"), ask("memory://identities/*.csv"))
    assert (one["size"], both["num_objects"]) == (1, 2)
    store.pipe("/identities/a.csv", b"c")
    assert ask("memory://identities/a.csv") != one
    assert ask("memory://identities/*.csv") != both
    both = ask("memory://identities/*.csv")
    store.pipe("/identities/c.csv", b"c")
    assert ask("memory://identities/*.csv") != both
    with pytest.raises(DataError, match="no such file"):
        ask("memory://identities/none.csv")


@pytest.mark.service
def test_an_object_in_s3_is_known_by_its_etag(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_bucket("tickets", monkeypatch) as store:
        store.pipe("tickets/a.csv", CSV.encode())
        before = ask("s3://tickets/a.csv")
        assert before == ask("s3://tickets/a.csv")
        assert (before["source"], before["size"]) == ("s3://tickets/a.csv", len(CSV))
        assert before["ETag"]
        store.pipe("tickets/a.csv", CSV.replace("money", "value").encode())  # of equal size
        assert ask("s3://tickets/a.csv")["ETag"] != before["ETag"]
        both = ask("s3://tickets/*.csv")
        store.pipe("tickets/b.csv", CSV.encode())
        assert ask("s3://tickets/*.csv") != both
    with pytest.raises(DataError, match=r"s3://tickets/a\.csv: cannot be read"):
        ask("s3://tickets/a.csv")


@pytest.fixture(scope="module")
def database() -> Iterator[Server]:
    with started() as made:
        made.execute("CREATE TABLE tickets (id serial, text TEXT, label TEXT)")
        yield made


@pytest.mark.service
def test_a_query_is_known_by_count_and_digest_of_its_rows(database: Server) -> None:
    database.execute("DELETE FROM tickets; INSERT INTO tickets VALUES (1, 'a', 'x'), (2, 'b', 'y')")
    address = f"{database.uri}#{QUERY}"
    before = ask(address)
    assert (before["num_rows"], before) == (2, ask(address))
    assert before["digest"] == ask(f"{address} DESC")["digest"]
    database.execute("UPDATE tickets SET label = 'y' WHERE id = 1")
    assert ask(address) != before
    database.execute("UPDATE tickets SET label = 'x' WHERE id = 1")
    assert ask(address) == before


@pytest.mark.service
def test_a_watermark_is_asked_in_place_of_the_rows(database: Server) -> None:
    address = f"{database.uri}#{QUERY}"
    database.execute("DELETE FROM tickets; INSERT INTO tickets VALUES (1, 'a', 'x')")
    watermark = "SELECT count(*), max(id) FROM tickets"
    assert ask(address, watermark)["watermark"] == ["1", "1"]
    database.execute("INSERT INTO tickets VALUES (7, 'b', 'y')")
    assert ask(address, watermark)["watermark"] == ["2", "7"]
    with pytest.raises(DataError, match="watermark gave more than one row"):
        ask(address, "SELECT id FROM tickets")
    with pytest.raises(DataError, match="watermark gave no row"):
        ask(address, "SELECT id FROM tickets WHERE id = 0")
    with pytest.raises(DataError, match=r"the query failed: .* does not exist"):
        ask(address, "SELECT max(id) FROM nowhere")


def test_a_hub_data_set_is_known_by_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    described = {"id": "org/tickets", "sha": "1" * 40}

    def answer(request: Request) -> Answer:
        is_known = request.path.startswith("/api/datasets/org/tickets")
        return Answer(json.dumps(described).encode(), 200 if is_known else 404)

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serve_answers(answer) as endpoint:
        monkeypatch.setattr(huggingface_hub, "HfApi", partial(HfApi, endpoint=endpoint))
        assert ask("hf://org/tickets")["commit"] == "1" * 40
        described["sha"] = "2" * 40
        assert ask("hf://org/tickets:small@main")["commit"] == "2" * 40
        with pytest.raises(DataError, match="hf://org/nothing: cannot be read"):
            ask("hf://org/nothing")
    assert ask(f"hf://org/tickets@{'3' * 40}")["commit"] == "3" * 40  # nothing to ask
    with pytest.raises(DataError, match="hf://org/tickets: cannot be read"):
        ask("hf://org/tickets")


def test_a_remote_source_without_an_identity_is_refused(folder: Path) -> None:
    address = "s3://bucket/a.csv"
    with pytest.raises(DataError, match=r"set identity\.lookup: \[remote\]"):
        check_recorded([address])
    write_json(layout.IDENTITY, [{"source": "s3://bucket/b.csv"}])
    with pytest.raises(DataError, match=r"s3://bucket/a\.csv: data/identity.json has no identity"):
        check_recorded([address])
    write_json(layout.IDENTITY, [{"source": address, "ETag": "1"}])
    check_recorded([address])
    layout.IDENTITY.write_text("[1]")
    with pytest.raises(DataError, match=r"git checkout data/identity\.json"):
        check_recorded([address])
