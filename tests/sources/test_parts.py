"""Where data may be: files, patterns, addresses, object stores, databases and hub data sets."""

import gzip
import hashlib
import io
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from fsspec import AbstractFileSystem
from tests.support.loopback import Answer, Request, serve_answers, serve_folder
from tests.support.small_sources import COLUMNS, CSV, LINES, read_source

from plumbline.contract.errors import DataError, ParamsError
from plumbline.sources import http_download
from plumbline.sources.identities import look_up_identities
from plumbline.sources.parts import locate_parts
from plumbline.tables.records import ReadRequest, WantedColumn


@pytest.fixture
def folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(folder / "cache"))
    monkeypatch.setattr(http_download, "PAUSES_S", ())
    return folder


@pytest.fixture
def server(folder: Path) -> Iterator[str]:
    """The scratch folder over HTTP on loopback."""

    with serve_folder(folder) as address:
        yield address


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_pattern_reads_its_files_in_order(folder: Path) -> None:
    (folder / "b.csv").write_text("text,label\n" + "".join(LINES[30:]))
    (folder / "a.csv").write_text("text,label\n" + "".join(LINES[:30]))
    result = read_source("*.csv")
    expected = [f"{name}.csv:{line}" for name in "ab" for line in range(2, 32)]
    assert list(result.rows) == expected
    assert [part.facts["name"] for part in result.parts] == ["a.csv", "b.csv"]
    assert result.parts[0].facts["sha256"] == sha256((folder / "a.csv").read_text())


def test_parts_of_one_file_or_database_have_the_name_of_their_split(folder: Path) -> None:
    (folder / "a.csv").write_text(CSV)
    sqlite3.connect(folder / "t.db").close()
    query = "sqlite:///t.db#SELECT text, label FROM"
    sources = [("train", f"{query} train"), ("validation", "a.csv"), ("test", f"{query} test")]
    assert [part.name for part in locate_parts(sources, {})] == ["train:t.db", "a.csv", "test:t.db"]
    files = [("train", "a.csv"), ("test", "file://./a.csv")]
    parts = locate_parts(files, {})
    assert [part.name for part in parts] == ["train:a.csv", "test:a.csv"]
    request = ReadRequest(COLUMNS, refuse_encoding=False)
    assert [len(list(part.read_rows(request))) for part in parts] == [60, 60]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("tickets.csv", r"no such file \(did you mean ticket.csv\?\)"),
        ("sub", "a folder; name the files in it, such as sub/"),
        ("none/a.csv", "no such file; none holds nothing"),
        ("sqlite:///none.db#SELECT 1", "no such database"),
        ("sqlite:///none.db?timeout=5#SELECT 1", r"^none\.db: no such database"),
        ("hf://./none", "no such folder"),
    ],
)
def test_a_source_that_is_not_there_is_named(folder: Path, source: str, message: str) -> None:
    (folder / "sub").mkdir()
    (folder / "ticket.csv").write_text(CSV)
    with pytest.raises(DataError, match=message):
        read_source(source)


def test_a_pinned_file_must_have_its_digest(folder: Path) -> None:
    (folder / "a.csv").write_text(CSV)
    assert len(read_source("a.csv", **{"a.csv": sha256(CSV)}).rows) == 60
    with pytest.raises(DataError, match=r"but data\.sha256 pins 0000"):
        read_source("a.csv", **{"a.csv": "0" * 64})
    with pytest.raises(ParamsError, match=r"b\.csv: not a file of data.source"):
        read_source("a.csv", **{"b.csv": sha256(CSV)})
    with pytest.raises(ParamsError, match=r"b\.csv: not a file of data.source"):
        locate_parts([], {"b.csv": sha256(CSV)})


def test_an_address_is_fetched_once_and_only_if_pinned(folder: Path, server: str) -> None:
    (folder / "a.csv").write_text(CSV)
    url = f"{server}/to/a.csv?token=secret"
    result = read_source(url, **{url: sha256(CSV)})
    assert len(result.rows) == 60
    assert [part.facts for part in result.parts] == [
        {"name": f"{server}/to/a.csv", "sha256": sha256(CSV)}
    ]
    (folder / "a.csv").unlink()
    assert read_source(url, **{url: sha256(CSV)}).rows == result.rows


def test_an_address_is_refused_unpinned_changed_or_absent(folder: Path, server: str) -> None:
    (folder / "a.csv").write_text(CSV)
    url = f"{server}/a.csv"
    with pytest.raises(ParamsError, match="no pinned digest"):
        read_source(url)
    with pytest.raises(DataError, match=f"has SHA-256 {sha256(CSV)}"):
        read_source(url, **{url: "0" * 64})
    with pytest.raises(DataError, match="the server answered 404"):
        read_source(f"{url}x", **{f"{url}x": "0" * 64})
    with pytest.raises(DataError, match="cannot be fetched"):
        read_source("http://127.0.0.1:9/a.csv", **{"http://127.0.0.1:9/a.csv": "0" * 64})
    assert list((folder / ".plumbline/downloads").iterdir()) == []


@pytest.mark.parametrize("url", ["https://a..b/x.csv", "http://me:secret@[::1/x"])
def test_an_address_that_cannot_be_one_is_named(folder: Path, url: str) -> None:
    for ask in (
        lambda: read_source(url, **{url: "0" * 64}),
        lambda: look_up_identities([url], watermark=None),
    ):
        with pytest.raises(ParamsError, match="not a valid address") as error:
            ask()
        assert "secret" not in str(error.value)


def test_an_object_store_is_read_through_fsspec(folder: Path) -> None:
    store = fsspec.filesystem("memory")
    pq.write_table(pa.table({"text": LINES, "label": ["a", "b"] * 30}), "t.parquet")
    store.pipe("/bucket/t.parquet", Path("t.parquet").read_bytes())
    assert len(read_source("memory://bucket/t.parquet").rows) == 60
    store.pipe(
        {"/bucket/a.csv": CSV.encode(), "/bucket/b.csv": CSV.replace("ticket", "request").encode()}
    )
    assert len(read_source("memory://bucket/*.csv").rows) == 120
    with pytest.raises(DataError, match="no such file"):
        read_source("memory://bucket/none.csv")
    with pytest.raises(DataError, match=r"but data\.sha256 pins"):
        read_source("memory://bucket/a.csv", **{"memory://bucket/a.csv": "0" * 64})
    with pytest.raises(ParamsError, match=r"^nowhere://bucket/a\.csv: "):
        read_source("nowhere://bucket/a.csv")


class DriverError(Exception):
    """What a driver raises in its own way: no OSError."""


class FailingStore(AbstractFileSystem):  # type: ignore[misc]
    """A store that knows every object, and fails when one is opened, or read a second time."""

    protocol = "failing"
    content: ClassVar[bytes | None] = None  # None: fails when one is opened

    def info(self, path: str, **_: object) -> dict[str, object]:
        return {"name": path, "size": 9, "type": "file"}

    def _open(self, path: str, **_: object) -> io.BufferedReader:
        if self.content is None:
            raise DriverError("no access to\nhttps://me:secret@host/x?token=secret")
        return io.BufferedReader(FailingFile(self.content))


class FailingFile(io.BytesIO):
    """A file whose connection ends after the first block, wherever one reads on."""

    num_reads = 0

    def readinto(self, buffer: Any) -> int:
        self.num_reads += 1
        if self.num_reads > 1:
            raise DriverError("the connection ended")
        return super().readinto(buffer)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet", "a.feather"])
def test_what_a_driver_raises_in_its_own_way_names_the_file(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsspec.register_implementation("failing", FailingStore, clobber=True)
    address = f"failing://bucket/{name}"
    table = pa.table({"text": LINES, "label": ["a", "b"] * 30})
    pq.write_table(table, "a.parquet")
    pyarrow.feather.write_feather(table, "a.feather")
    Path("a.csv").write_text(CSV)
    Path("a.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    for content, reason in (
        (Path(name).read_bytes(), "the connection ended"),
        (None, "no access to https://host/x"),
    ):
        monkeypatch.setattr(FailingStore, "content", content)
        for pins in ({}, {address: "0" * 64}):
            with pytest.raises(DataError) as error:
                read_source(address, **pins)
            assert str(error.value).endswith(f"{name}: cannot be read ({reason})")


def test_a_query_is_streamed_from_a_database(folder: Path) -> None:
    with sqlite3.connect(folder / "tickets.db") as database:
        database.execute("CREATE TABLE tickets (body TEXT, label INTEGER)")
        database.executemany(
            "INSERT INTO tickets VALUES (?, ?)", [(line, i % 2) for i, line in enumerate(LINES)]
        )
    database.close()
    address = "sqlite:///tickets.db#SELECT body AS text, label FROM tickets"
    result = read_source(f"{address} ORDER BY rowid")
    assert list(result.rows) == [f"tickets.db:{number}" for number in range(1, 61)]
    assert {label for _, label in result.values} == {"0", "1"}
    one_column = read_source(f"{address} ORDER BY rowid", COLUMNS[:1])
    assert one_column.values == [(text,) for text, _ in result.values]
    assert result.parts[0].facts["query"].startswith("SELECT body")
    assert "no ORDER BY" in read_source(address).notices[0]
    with pytest.raises(DataError, match="no column 'text'; found 'body', 'label'\n  is it 'body'"):
        read_source("sqlite:///tickets.db#SELECT * FROM tickets")
    with_option = read_source(
        "sqlite:///tickets.db?timeout=5#SELECT body AS text, label FROM tickets"
    )
    assert with_option.rows == result.rows
    with pytest.raises(DataError, match="the query failed: no such table: elsewhere"):
        read_source("sqlite:///tickets.db#SELECT * FROM elsewhere")
    with pytest.raises(ParamsError, match="add the query after '#', beginning with SELECT"):
        read_source("sqlite:///tickets.db#DROP TABLE tickets")


def test_a_database_password_is_shown_nowhere(folder: Path) -> None:
    with pytest.raises(DataError) as error:
        read_source("postgresql+nodriver://me:secret@127.0.0.1/x#SELECT 1")
    assert "secret" not in str(error.value)
    assert "is not installed" in str(error.value)


def test_a_hub_data_set_keeps_its_own_splits(folder: Path) -> None:
    (folder / "set").mkdir()
    for split in ("train", "test"):
        (folder / "set" / f"{split}.csv").write_text(CSV)
    result = read_source("hf://./set")
    assert [(part.name, part.split) for part in result.parts] == [
        ("train", "train"),
        ("test", "test"),
    ]
    assert len(result.rows) == 120
    one_column = read_source("hf://./set", COLUMNS[:1])
    assert one_column.values == [(text,) for text, _ in result.values]


def test_a_hub_data_set_that_cannot_be_read_is_named(folder: Path) -> None:
    (folder / "set").mkdir()
    (folder / "set" / "train.jsonl").write_text('{"text": "hi", "label": "a"}\n{"text": \n')
    with pytest.raises(DataError, match=r"hf://\./set.* cannot be read"):
        read_source("hf://./set")


def test_a_column_that_may_hold_lists_is_read_as_json(folder: Path) -> None:
    from datasets import ClassLabel, Dataset, Features, List, Value

    features = Features({"text": Value("string"), "label": List(ClassLabel(names=["é", "b"]))})
    rows = {"text": ["one", "two"], "label": [[1, 0], []]}
    (folder / "set").mkdir()
    Dataset.from_dict(rows, features).to_parquet(folder / "set/train.parquet")
    pq.write_table(pa.table(rows | {"label": [["b", "é"], []]}), "a.parquet")
    (folder / "a.jsonl").write_text(
        '{"text": "one", "label": ["b", "é"]}\n{"text": "two", "label": []}\n', encoding="utf-8"
    )
    wanted = (
        WantedColumn("text", "data.text"),
        WantedColumn("label", "data.label", may_be_list=True),
    )
    for source in ("a.jsonl", "a.parquet", "hf://./set"):
        (part,) = locate_parts([(None, source)], {})
        read = [list(row.values) for row in part.read_rows(ReadRequest(wanted, False))]
        assert read == [["one", '["b", "é"]'], ["two", "[]"]]


FILE = bytes(range(256)) * 40
SHA256 = hashlib.sha256(FILE).hexdigest()
CUT = Answer(FILE[:3000], headers={"Content-Length": str(len(FILE))})


@pytest.fixture
def first() -> list[Answer]:
    """What the server answers before it sends the file."""
    return []


@pytest.fixture
def address(first: list[Answer], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    def answer(_: Request) -> Answer:
        return first.pop(0) if first else Answer(FILE)

    monkeypatch.setattr(http_download, "PAUSES_S", (0, 0, 0))
    with serve_answers(answer) as url:
        yield f"{url}/rows.csv"


def test_it_begins_again_where_the_connection_ended_or_the_server_is_busy(
    address: str, first: list[Answer]
) -> None:
    first += [Answer(status=503), Answer(status=429), CUT]
    path = http_download.download_pinned(address, address, SHA256)
    assert path.read_bytes() == FILE


def test_it_ends_where_the_connection_always_does(address: str, first: list[Answer]) -> None:
    first += [CUT] * 4
    with pytest.raises(DataError, match="received 3000 bytes"):
        http_download.download_pinned(address, address, SHA256)


def test_it_asks_once_for_what_is_not_there(address: str, first: list[Answer]) -> None:
    first += [Answer(status=404)] * 2
    with pytest.raises(DataError, match="the server answered 404"):
        http_download.download_pinned(address, address, SHA256)
    assert len(first) == 1


def test_it_asks_once_for_a_host_that_no_name_server_knows(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def find_no_host(name: str, *_: object) -> None:
        asked.append(name)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", find_no_host)
    with pytest.raises(DataError, match=r"fetched \(.*not known"):
        http_download.download_pinned("http://misspelt/a.csv", address, SHA256)
    assert asked == ["misspelt"]


def test_a_file_without_certificates_is_named(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("ca_file").write_text("none")
    monkeypatch.setenv("SSL_CERT_FILE", "ca_file")
    with pytest.raises(ParamsError, match="SSL_CERT_FILE: ca_file: no certificates"):
        http_download.download_pinned(address, address, SHA256)


def test_a_proxy_that_cannot_be_used_is_named(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks://127.0.0.1:1")
    with pytest.raises(DataError, match=r"ALL_PROXY"):
        http_download.download_pinned(address, address, SHA256)
