"""identify records what remote sources are, so that `dvc repro` trains on today's rows."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.support.checkouts import Checkout, make_checkout
from tests.support.loopback import serve_folder
from tests.support.postgres import Server, started
from tests.support.small_sources import CSV

from plumbline.contract import layout
from plumbline.contract.errors import DataError
from plumbline.contract.loading import load_task
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.contract.yaml_file import load_yaml
from plumbline.process.files import read_json
from plumbline.stages.identify import identify
from plumbline.stages.ingest import ingest
from plumbline.tasks.text_classification.params import TextParams

RECIPE = Path(__file__).parents[2] / "recipes/text_classification.yaml"


def build_params(source: str, sha256: dict[str, str]) -> TextParams:
    values = load_yaml(RECIPE)
    values["data"] |= {"source": source, "sha256": sha256}
    values["data"]["columns"]["metadata"] = []
    values["evaluation"]["slices"] = []
    values["identity"]["lookup"] = ["remote"]
    return TextParams.model_validate(values)


@pytest.fixture
def task(folder: Path) -> Task:
    return load_task("text_classification")


def test_a_pinned_file_that_changed_is_downloaded_and_compared_again(
    task: Task, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served = tmp_path / "served"
    served.mkdir()
    (served / "a.csv").write_text(CSV)
    with serve_folder(served) as server:
        url = f"{server}/a.csv"
        params = build_params(url, {url: hashlib.sha256(CSV.encode()).hexdigest()})
        identify(params, task)
        assert f"{url}: new, or changed" in capsys.readouterr().out
        ingest(params, task)
        identify(params, task)
        assert capsys.readouterr().out == ""
        assert len(list(layout.DOWNLOADS.iterdir())) == 1
        (served / "a.csv").write_text(CSV + "one more ticket,a\n")
        identify(params, task)
        with pytest.raises(DataError, match=r"a\.csv: has SHA-256 .*, but data\.sha256 pins"):
            ingest(params, task)
    recorded = layout.IDENTITY.read_bytes()
    with pytest.raises(DataError, match=r"cannot be fetched[^\n]*\n.*set identity\.lookup: \[\]"):
        identify(params, task)
    assert layout.IDENTITY.read_bytes() == recorded


def test_ingest_refuses_a_remote_source_that_no_run_looks_up(task: Task) -> None:
    with pytest.raises(DataError, match=r"set identity\.lookup: \[remote\]"):
        ingest(build_params("s3://bucket/a.csv", {}), task)


def test_a_task_without_sources_has_nothing_to_identify(line_task: tuple[Params, Task]) -> None:
    identify(*line_task)
    assert read_json(layout.IDENTITY) == []


@pytest.fixture(scope="module")
def database() -> Iterator[Server]:
    with started() as made:
        made.execute("CREATE TABLE tickets (id serial, text TEXT, label TEXT)")
        add_rows(made, range(400))
        yield made


@pytest.fixture(scope="module")
def tickets(database: Server, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout that learns from a query."""
    made = make_checkout(tmp_path_factory.mktemp("tickets"))
    source = f"{database.uri}#SELECT text, label FROM tickets ORDER BY id"  # noqa: S608
    made.replace("params.yaml", "source: generated ", f"source: {json.dumps(source)} ")
    made.replace("params.yaml", "metadata: [channel, product, variant, day]", "metadata: []")
    made.replace("params.yaml", "slices: [channel, product, variant]", "slices: []")
    made.replace("params.yaml", "lookup: [] ", "lookup: [remote] ")
    made.replace("params.yaml", "max_epochs: 30", "max_epochs: 2")
    made.commit("tickets")
    return made


def add_rows(server: Server, numbers: range) -> None:
    rows = []
    for number in numbers:
        text, label = ("refund my money", "money") if number % 2 else ("find my parcel", "parcel")
        rows.append(f"('{text} of order number {number} {'xyzuvw'[number % 6]}', '{label}')")
    server.execute(f"INSERT INTO tickets (text, label) VALUES {', '.join(rows)}")  # noqa: S608


def list_stages(printed: str) -> list[str]:
    lines = [line for line in printed.splitlines() if line.startswith("Running stage")]
    return [line.split("'")[1] for line in lines]


@pytest.mark.slow
@pytest.mark.service
def test_a_repro_after_a_change_trains_on_the_new_rows(tickets: Checkout, database: Server) -> None:
    command = ("dvc", "repro", "train@linear")
    first = ["identify@remote", "ingest", "validate", "train@linear"]
    assert list_stages(tickets.run(*command).stdout) == first
    assert list_stages(tickets.run(*command).stdout) == ["identify@remote"]
    assert tickets.run("git", "status", "--porcelain", "data").stdout.split() == [
        "M",
        "data/identity.json",
    ]
    add_rows(database, range(400, 500))
    assert list_stages(tickets.run(*command).stdout) == first
    assert pq.read_metadata(tickets.path / layout.MANIFEST).num_rows == 500
