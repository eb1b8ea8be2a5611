"""A Spark cluster in containers scores as one machine does, also when a worker dies."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from tests.support.checkouts import Checkout
from tests.support.containers import (
    CLUSTER,
    ENGINE,
    PROJECT,
    USER_ID,
    Services,
    build,
    build_images,
)
from tests.support.loopback import wait_until

pytestmark = [pytest.mark.cluster, ENGINE]
NUM_FILES = 16
NUM_ROWS = 40_000
MODEL = "models:/line/1"


class Spark(Services):
    """A Spark cluster of a master and two workers, with a checkout that all of them see."""

    MASTER = "spark://master:7077"

    def __init__(self, checkout: Checkout) -> None:
        super().__init__(checkout, checkout.path / "spark.yaml")

    def start(self) -> None:
        """Make the images; start the cluster."""
        shutil.copy2(CLUSTER / "spark.yaml", self.path)
        (self.path / ".env").write_text(f"USER_ID={USER_ID}\n")
        build_images(self.path)
        build(CLUSTER / "images/spark.Dockerfile", f"{PROJECT}-spark", self.path)
        self.compose("up", "--detach", "--no-build")

    def submit(self, *command: str) -> str:
        """Run a command in a container beside the cluster."""
        return self.compose("run", "--rm", "-T", "submit", *command)

    def start_submit(self, *command: str) -> "subprocess.Popen[str]":
        """Start a command in a container beside the cluster."""
        words = self._build_command("run", "--rm", "-T", "submit", *command)
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


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
        rows = pd.DataFrame({"x": [(number + row) % 997 / 997 for row in range(NUM_ROWS)]})
        rows.to_csv(spark.path / f"in/{number:02}.csv", index=False)
    spark.submit("plumbline", "score", MODEL, "in", "here")
    with spark.start_submit("plumbline", "score", MODEL, "in", "out", "--on", spark.MASTER) as job:
        wait_until(lambda: len(list((spark.path / "out").glob("*.csv"))) >= 2, "two files")
        spark.kill("worker-1")
        said = job.communicate(timeout=600)[0]
    assert job.returncode == 0, said
    assert f"{NUM_FILES} files, {NUM_FILES * NUM_ROWS:,} rows" in said
    assert read_answers(spark.path / "out") == read_answers(spark.path / "here")
