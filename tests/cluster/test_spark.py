"""A Spark cluster in containers scores as one machine does, also when a worker dies."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from ruamel.yaml import YAML
from tests.support.checkouts import ROOT, Checkout
from tests.support.containers import ENGINE, Spark, wait_until

from plumbline.contract import layout
from plumbline.tasks.text_classification.params import CheckName

pytestmark = [pytest.mark.cluster, ENGINE]
NUM_FILES = 16
NUM_ROWS = 40_000
MODEL = "models:/line/1"
NUM_TICKETS = 110_000  # in three parts


@pytest.fixture(scope="module")
def spark(line: Checkout) -> Iterator[Spark]:
    """A master with two workers, and a checkout with a registered model that all of them see."""
    made = Spark(line)
    try:
        made.start()
        made.submit("plumbline", "run")
        yield made
    finally:
        made.end()


def read_answers(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_killed_worker_changes_no_answer(spark: Spark) -> None:
    (spark.path / "in").mkdir()
    for number in range(NUM_FILES):
        with (spark.path / f"in/{number:02}.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["x"])
            rows.writerows([[(number + row) % 997 / 997] for row in range(NUM_ROWS)])
    spark.submit("plumbline", "score", MODEL, "in", "here")
    with spark.start_submit("plumbline", "score", MODEL, "in", "out", "--on", spark.MASTER) as job:
        wait_until(lambda: len(list((spark.path / "out").glob("*.csv"))) >= 2, "two files")
        spark.kill("worker-1")
        said = job.communicate(timeout=600)[0]
    assert job.returncode == 0, said
    assert f"{NUM_FILES} files, {NUM_FILES * NUM_ROWS:,} rows" in said
    assert read_answers(spark.path / "out") == read_answers(spark.path / "here")


def test_a_killed_worker_changes_no_finding(spark: Spark) -> None:
    spark.compose("up", "--detach", "--no-build")  # a worker that another test killed, too
    folder = spark.path / "tickets"
    (folder / "scratch").mkdir(parents=True)
    write_params(folder / "params.yaml")
    spark.submit("sh", "-c", "cd tickets && python -P ../pipelines/ingest.py")
    validate = "cd tickets && exec python -P ../pipelines/validate.py"
    spark.submit("sh", "-c", validate)
    report = folder / layout.VALIDATION
    here = report.read_bytes()
    named = (f"PLUMBLINE_SPARK={spark.MASTER}", "PLUMBLINE_SCRATCH=/project/tickets/scratch")
    with spark.start_submit("env", *named, "sh", "-c", validate) as job:
        wait_until(lambda: len(list(folder.glob("scratch/*/*/*.arrow"))) > 3, "a computed part")
        spark.kill("worker-1")
        said = job.communicate(timeout=1200)[0]
    assert job.returncode == 0, said[-3000:]
    assert report.read_bytes() == here
    assert list((folder / "scratch").iterdir()) == []


def write_params(path: Path) -> None:
    """Write params of generated tickets, with few rows held out; no check blocks them."""
    yaml = YAML(typ="safe")
    params = yaml.load((ROOT / "recipes/text_classification.yaml").read_text(encoding="utf-8"))
    params["data"]["generated"]["num_rows"] = NUM_TICKETS
    params["data"]["split"] |= {"validation": 0.02, "test": 0.02}
    params["validation"]["warnings"] = list(get_args(CheckName))
    with path.open("w", encoding="utf-8") as file:
        yaml.dump(params, file)
