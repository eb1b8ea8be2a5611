"""Where data may lie: files, patterns, addresses, object stores, databases and hub data sets."""

import hashlib
import http.server
import json
import sqlite3
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from plumbline.contract.errors import DataError, ParamsError
from plumbline.entrypoint import load_params
from plumbline.tasks.text_classification.data import ingest
from plumbline.tasks.text_classification.data.remote import _is_private, _Redirects
from plumbline.tasks.text_classification.params import TextParams

ROOT = Path(__file__).parents[3]
LINES = [
    f"ticket number {number} is about {'money' if number % 2 else 'parcels'},{'ab'[number % 2]}\n"
    for number in range(60)
]
CSV = "text,label\n" + "".join(LINES)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def server(folder: Path) -> Iterator[str]:
    """The scratch folder over HTTP on loopback."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            if self.path.startswith("/to/"):
                self.send_response(302)
                self.send_header("Location", self.path.removeprefix("/to"))
                self.end_headers()
            else:
                super().do_GET()

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=str(folder))
    ) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def made(source: Any, watch: str = ".", **sha256: str) -> TextParams:
    values = json.loads(load_params(ROOT / "params.yaml").model_dump_json())
    values["data"] |= {"source": source, "watch": watch, "sha256": sha256}
    values["data"]["columns"]["metadata"] = []
    values["evaluation"]["slices"] = []
    return TextParams.model_validate(values)


def run(params: TextParams, folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    out = folder / "out"
    out.mkdir(exist_ok=True)
    facts = ingest(params, out, out / "manifest.parquet")
    return facts, pq.read_table(out / "manifest.parquet").to_pylist()


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_pattern_reads_its_files_in_order(folder: Path) -> None:
    for name in ("b.csv", "a.csv"):
        (folder / name).write_text(
            "text,label\n" + "".join(LINES[:30] if name == "a.csv" else LINES[30:])
        )
    facts, rows = run(made("*.csv"), folder)
    assert [row["id"] for row in rows] == [
        f"{name}.csv:{line}" for name in "ab" for line in range(2, 32)
    ]
    assert [source["name"] for source in facts["sources"]] == ["a.csv", "b.csv"]
    assert facts["sources"][0]["sha256"] == sha256((folder / "a.csv").read_text())


def test_files_of_one_name_are_told_apart_by_their_path(folder: Path) -> None:
    for name in ("x", "y"):
        (folder / name).mkdir()
        (folder / name / "a.csv").write_text(CSV)
    _, rows = run(made("**/a.csv"), folder)
    assert {row["id"].partition(":")[0] for row in rows} == {"x/a.csv", "y/a.csv"}


def test_given_splits_are_kept_and_validation_is_carved_out_of_train(folder: Path) -> None:
    (folder / "train.csv").write_text(CSV)
    (folder / "test.csv").write_text(CSV)
    _, rows = run(made({"train": "train.csv", "validation": None, "test": "test.csv"}), folder)
    assert {row["split"] for row in rows if row["id"].startswith("test")} == {"test"}
    assert {row["split"] for row in rows if row["id"].startswith("train")} == {
        "train",
        "validation",
    }


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("tickets.csv", r"no such file \(did you mean ticket.csv\?\)"),
        ("sub", "a folder; name the files in it, such as sub/"),
        ("none/a.csv", "no such file; none holds nothing"),
        ("sqlite:///none.db#SELECT 1", "no such database"),
        ("hf://./none", "no such folder"),
    ],
)
def test_a_source_that_is_not_there_is_named(folder: Path, source: str, says: str) -> None:
    (folder / "sub").mkdir()
    (folder / "ticket.csv").write_text(CSV)
    with pytest.raises(DataError, match=says):
        run(made(source), folder)


@pytest.mark.parametrize(
    "source",
    ["elsewhere/a.csv", "file:///elsewhere/a.csv", "sqlite:///b.db#SELECT 1", "hf://./set"],
)
def test_a_local_source_must_be_watched(source: str) -> None:
    with pytest.raises(ValidationError, match="is not inside watch"):
        made(source, watch="data/raw")


def test_a_pinned_file_must_be_the_one(folder: Path) -> None:
    (folder / "a.csv").write_text(CSV)
    run(made("a.csv", **{"a.csv": sha256(CSV)}), folder)
    with pytest.raises(DataError, match=r"but data\.sha256 pins 0000"):
        run(made("a.csv", **{"a.csv": "0" * 64}), folder)
    with pytest.raises(ParamsError, match=r"b\.csv: not a file of data.source"):
        run(made("a.csv", **{"b.csv": sha256(CSV)}), folder)


def test_an_address_is_fetched_once_and_only_if_pinned(folder: Path, server: str) -> None:
    (folder / "a.csv").write_text(CSV)
    url = f"{server}/to/a.csv?token=secret"
    facts, rows = run(made(url, **{url: sha256(CSV)}), folder)
    assert len(rows) == 60
    assert facts["sources"] == [{"name": f"{server}/to/a.csv", "sha256": sha256(CSV)}]
    (folder / "a.csv").unlink()
    assert run(made(url, **{url: sha256(CSV)}), folder)[1] == rows


def test_an_address_is_refused_unpinned_changed_or_absent(folder: Path, server: str) -> None:
    (folder / "a.csv").write_text(CSV)
    url = f"{server}/a.csv"
    with pytest.raises(ParamsError, match="no pinned digest"):
        run(made(url), folder)
    with pytest.raises(DataError, match=f"has SHA-256 {sha256(CSV)}"):
        run(made(url, **{url: "0" * 64}), folder)
    with pytest.raises(DataError, match="the server answered 404"):
        run(made(f"{url}x", **{f"{url}x": "0" * 64}), folder)
    with pytest.raises(DataError, match="cannot be fetched"):
        run(made("http://127.0.0.1:9/a.csv", **{"http://127.0.0.1:9/a.csv": "0" * 64}), folder)
    assert list((folder / ".plumbline/downloads").iterdir()) == []


def test_no_public_host_may_redirect_into_this_network() -> None:
    class Asked:
        host = "example.com"

    for url in (
        "http://127.0.0.1/x",
        "http://169.254.169.254/latest",
        "http://[::1]/",
        "http://10.0.0.1/",
    ):
        assert _is_private(url)
        with pytest.raises(DataError, match="a private address; not followed"):
            _Redirects(private=False).redirect_request(Asked(), None, 302, "", {}, url)
    with pytest.raises(DataError, match="redirects to file"):
        _Redirects(private=True).redirect_request(Asked(), None, 302, "", {}, "file:///etc/passwd")


def test_an_object_store_is_read_through_fsspec(folder: Path) -> None:
    store = fsspec.filesystem("memory")
    pq.write_table(pa.table({"text": LINES, "label": ["a", "b"] * 30}), "t.parquet")
    store.pipe("/bucket/t.parquet", Path("t.parquet").read_bytes())
    assert len(run(made("memory://bucket/t.parquet"), folder)[1]) == 60
    store.pipe(
        {"/bucket/a.csv": CSV.encode(), "/bucket/b.csv": CSV.replace("ticket", "request").encode()}
    )
    _, rows = run(made("memory://bucket/*.csv"), folder)
    assert len(rows) == 120
    with pytest.raises(DataError, match="no such file"):
        run(made("memory://bucket/none.csv"), folder)
    with pytest.raises(DataError, match=r"but data\.sha256 pins"):
        run(made("memory://bucket/a.csv", **{"memory://bucket/a.csv": "0" * 64}), folder)
    with pytest.raises(ParamsError, match=r"data\.source"):
        run(made("nowhere://bucket/a.csv"), folder)


def test_a_query_is_streamed_from_a_database(folder: Path) -> None:
    with sqlite3.connect(folder / "tickets.db") as database:
        database.execute("CREATE TABLE tickets (body TEXT, label INTEGER)")
        database.executemany(
            "INSERT INTO tickets VALUES (?, ?)", [(line, i % 2) for i, line in enumerate(LINES)]
        )
    database.close()
    address = "sqlite:///tickets.db#SELECT body AS text, label FROM tickets"
    facts, rows = run(made(f"{address} ORDER BY rowid"), folder)
    assert [row["id"] for row in rows] == [f"tickets.db:{number}" for number in range(1, 61)]
    assert {row["label"] for row in rows} == {"0", "1"}
    assert facts["sources"][0]["query"].startswith("SELECT body")
    assert "no ORDER BY" in run(made(address), folder)[0]["notices"][0]
    with pytest.raises(DataError, match="no column 'text'; found 'body', 'label'\n  is it 'body'"):
        run(made("sqlite:///tickets.db#SELECT * FROM tickets"), folder)
    with pytest.raises(DataError, match="the query failed: no such table: elsewhere"):
        run(made("sqlite:///tickets.db#SELECT * FROM elsewhere"), folder)
    with pytest.raises(ParamsError, match="add the query after '#', beginning with SELECT"):
        run(made("sqlite:///tickets.db#DROP TABLE tickets"), folder)


def test_a_database_password_is_shown_nowhere(folder: Path) -> None:
    with pytest.raises(DataError) as error:
        run(made("postgresql+nodriver://me:secret@127.0.0.1/x#SELECT 1"), folder)
    assert "secret" not in str(error.value)
    assert "is not installed" in str(error.value)


def test_a_hub_data_set_keeps_the_splits_it_brings(folder: Path) -> None:
    (folder / "set").mkdir()
    for split in ("train", "test"):
        (folder / "set" / f"{split}.csv").write_text(CSV)
    facts, rows = run(made("hf://./set"), folder)
    assert {row["split"] for row in rows if row["id"].startswith("test:")} == {"test"}
    assert {row["split"] for row in rows if row["id"].startswith("train:")} == {
        "train",
        "validation",
    }
    assert facts["rows_read"] == 120


def test_a_hub_data_set_that_cannot_be_read_is_named(folder: Path) -> None:
    (folder / "set").mkdir()
    (folder / "set" / "train.jsonl").write_text('{"text": "hi", "label": "a"}\n{"text": \n')
    with pytest.raises(DataError, match=r"hf://\./set.* cannot be read"):
        run(made("hf://./set"), folder)


def test_a_hub_data_set_brings_its_own_splits(folder: Path) -> None:
    with pytest.raises(ValidationError, match="brings its own splits"):
        made({"train": "hf://a/b", "validation": None, "test": "a.csv"})
