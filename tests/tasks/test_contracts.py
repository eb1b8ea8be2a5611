"""Each task outside of the package keeps the contract of all tasks, and names what is wrong."""

from pathlib import Path
from typing import Any

import pytest
from tests.support import (
    small_answers,
    small_filters,
    small_retrieval,
    small_sequences,
    small_signals,
    task_contract,
)
from tests.support.task_examples import write_examples

from plumbline.contract.errors import DataError
from plumbline.contract.loading import load_task
from plumbline.contract.params import Params
from plumbline.contract.task import SPLITS
from plumbline.process.files import digest_path
from tasks.filter_design.params import FilterParams
from tasks.sequence_bayes.params import SequenceParams
from tasks.signal_extraction.params import SignalParams

pytestmark = pytest.mark.filterwarnings("ignore")
slow = pytest.mark.slow
FEW_FILTERS = small_filters.list_values()
FEW_FILTERS["data"]["generated"]["rows"] = {"train": 40, "validation": 25, "test": 40}


@pytest.mark.parametrize(
    ("params", "candidate"),
    [
        pytest.param(FilterParams.model_validate(FEW_FILTERS), "textbook", marks=slow),
        pytest.param(small_answers.small_params(), "logit", marks=slow),
        pytest.param(small_retrieval.build_params(), "bm25", marks=slow),
        pytest.param(small_signals.small_params(), "fir", marks=slow),
        (small_sequences.build_params("dice"), "rule"),
        (small_sequences.build_params("coins"), "rule"),
    ],
    ids=lambda value: getattr(value, "task", value),
)
def test_the_contract(folder: Path, params: object, candidate: str) -> None:
    task = load_task(params.task)  # type: ignore[attr-defined]  # a task's own
    task_contract.check(params, task, candidate)  # type: ignore[arg-type]


PARAMS: dict[str, Params] = {
    "answers": small_answers.small_params(),
    "filters": small_filters.build_params(),
    "retrieval": small_retrieval.build_params(),
    "dice": small_sequences.build_params("dice"),
    "coins": small_sequences.build_params("coins"),
    "signals": small_signals.small_params(),
}


@pytest.mark.parametrize("name", PARAMS)
def test_ingested_twice_it_is_the_same(tmp_path: Path, name: str) -> None:
    for folder in ("one", "two"):
        write_examples(PARAMS[name], tmp_path / folder)
    assert digest_path(tmp_path / "one") == digest_path(tmp_path / "two")


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("filters", "test.parquet"),
        ("filters", "train.designs.parquet"),
        ("retrieval", "corpus.parquet"),
        *(("retrieval", f"{split}.parquet") for split in SPLITS),
        ("dice", "test.sequences.npy"),
        ("dice", "train.strata.npy"),
        ("dice", "prior.json"),
        *(("signals", f"{split}.signals.npy") for split in SPLITS),
        ("signals", "setting.json"),
    ],
)
def test_damaged_examples_are_named(tmp_path: Path, name: str, file: str) -> None:
    examples = write_examples(PARAMS[name], tmp_path)
    (examples / file).write_bytes(b"\x00")
    data = load_task(PARAMS[name].task).data
    (tmp_path / "shuffled").mkdir()
    with pytest.raises(DataError, match=r"/\S+: cannot be read .*run `dvc repro ingest`"):
        _read_all(data, examples, tmp_path / "shuffled")


def _read_all(data: Any, examples: Path, target: Path) -> None:
    for split in SPLITS:
        data.list_rows(examples, split)
    data.shuffle_labels(examples, target, 1, 50)


FILTERS = (small_filters.list_values, FilterParams)
SEQUENCES = (small_sequences.list_values, SequenceParams)
SIGNALS = (small_signals.values, SignalParams)


@pytest.mark.parametrize(
    ("kind", "path", "value", "message"),
    [
        (FILTERS, "data.generated.z0_ohm", [1e7], "less than or equal to 1000000"),
        (FILTERS, "data.split", {"validation": 0.1, "test": 0.2}, "split: is set where source"),
        (FILTERS, "data.generated", None, "generated: is set where source"),
        (FILTERS, "data.generated.slack_db", {"low": 6.0, "high": 1.0}, "exchange them"),
        (FILTERS, "data.generated.stop_ratio", {"low": 1.0, "high": 2.0}, "must be above 1"),
        (FILTERS, "control.candidates", ["textbook"], "learns from no design of train"),
        (SEQUENCES, "data.components.even.alpha", [1.0] * 2, "2 numbers, but peaked has 3"),
        (SEQUENCES, "candidates.transformer.heads", 3, "make it a multiple of 3"),
        (SEQUENCES, "training.precision", "bf16", "use fp32 here"),
        (SEQUENCES, "control.candidates", ["transformer"], "transformer draws fresh sequences"),
        (SEQUENCES, "candidates.rule.alpha", 1.0, "set its alpha to one or each"),
        (SIGNALS, "data.sample_rate_hz", 48_000, "may start at 48,000 places"),
        (SIGNALS, "data.window", 2, "window"),
        (SIGNALS, "data.frequencies_hz", [1.0, 1.0000001], "six digits"),
        (SIGNALS, "data.frequencies_hz", [1.0, 600.0], "not below half of sample_rate_hz"),
        (SIGNALS, "data.frequencies_hz", [3.0, 3.0], "one is given twice"),
        (SIGNALS, "data.amplitude", {"low": 2.0, "high": 1.0}, "expected 0 < low <= high"),
        (SIGNALS, "control.candidates", ["film"], "film draws fresh windows, and would not see"),
        (SIGNALS, "training.precision", "bf16", "training.precision: bf16"),
        (SIGNALS, "candidates.stateful.chunk", 30, r"do not divide data.window \(40\)"),
    ],
)
def test_params_that_cannot_be_meant(
    kind: tuple[Any, type[Params]], path: str, value: object, message: str
) -> None:
    list_values, model = kind
    values = section = list_values()
    *parents, last = path.split(".")
    for key in parents:
        section = section[key]
    section[last] = value
    with pytest.raises(ValueError, match=message):
        model.model_validate(values)
