"""`dvc exp run` tries values: it scores validation alone, and is no result of `dvc repro`."""

import re
import sqlite3
from contextlib import closing

import pytest
from tests.support.checkouts import Checkout

pytestmark = pytest.mark.slow

RATE = "candidates.gradient.learning_rate=0.1"


def list_journal(line: Checkout) -> list[str]:
    return line.run("plumbline", "journal", "line").stdout.splitlines()


def count_looks(line: Checkout) -> int:
    """How many uses of test splits the journal has."""
    with closing(sqlite3.connect(line.path / "mlruns/journal.db")) as database:
        return int(database.execute("SELECT count(*) FROM plumbline_looks").fetchone()[0])


def list_stages(text: str) -> list[str]:
    return re.findall(r"Running stage '([^']+)'", text)


@pytest.fixture(scope="module")
def evaluated(line: Checkout) -> Checkout:
    """A checkout whose first model was evaluated and registered."""
    line.run("dvc", "repro", "--quiet")
    line.commit("first")
    return line


def test_an_experiment_spends_no_look_and_dvc_repro_evaluates_after_it(evaluated: Checkout) -> None:
    before, looks = list_journal(evaluated), count_looks(evaluated)
    assert looks > 0
    evaluated.run("dvc", "exp", "run", "-S", RATE)
    assert (list_journal(evaluated), count_looks(evaluated)) == (before, looks)
    assert evaluated.read_report("registration")["version"] is None
    metrics = evaluated.read_report("metrics")
    assert metrics["candidates"]["gradient"].keys() == {"validation"}
    assert "inside an experiment" in evaluated.read_report("evidence")["summary"]
    assert (
        "inside an experiment" in evaluated.run("plumbline", "report", "--verdict", code=1).stdout
    )
    shown = evaluated.run("dvc", "exp", "show", "--csv").stdout
    assert "validation.squared_error" in shown

    done = evaluated.run("dvc", "repro", code=None).stdout
    assert list_stages(done) == ["evaluate", "register"]
    assert evaluated.read_report("evidence")["verdict"] != "error"
    assert count_looks(evaluated) > looks
    assert list_stages(evaluated.run("dvc", "repro", code=None).stdout) in ([], ["register"])


def test_a_final_experiment_uses_the_test_split(evaluated: Checkout) -> None:
    looks = count_looks(evaluated)
    rate = RATE.replace("0.1", "0.2")
    evaluated.run("dvc", "exp", "run", "-S", rate, "-S", "evaluation.final=true", code=None)
    assert evaluated.read_report("evidence")["gates"]
    assert count_looks(evaluated) > looks


def test_an_experiment_that_ended_before_register_is_not_taken_for_a_result(
    evaluated: Checkout,
) -> None:
    rate = RATE.replace("0.1", "0.3")
    evaluated.run("dvc", "exp", "run", "-S", rate, "-S", "evaluation.final=false", "evaluate")
    done = evaluated.run("dvc", "repro", code=None)
    assert done.returncode != 0
    assert "inside an experiment of DVC only validation is scored" in done.stderr + done.stdout
    done = evaluated.run("dvc", "repro", code=None)
    assert list_stages(done.stdout)[0] == "evaluate"
