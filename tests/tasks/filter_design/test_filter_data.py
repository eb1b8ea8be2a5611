"""Specifications on disk: repeatable, possible or not as the theorem says, and never leaked."""

import contextlib
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.support.small_filters import build_params, build_specification, list_values
from tests.support.task_examples import seal_changed_examples, write_examples

from plumbline.contract import layout
from plumbline.contract.errors import DataError, RejectedError
from plumbline.contract.task import SPLITS
from plumbline.stages.ingest import ingest
from plumbline.stages.validate import validate
from tasks.filter_design.data import shuffle_labels
from tasks.filter_design.data.generated import draw_specifications
from tasks.filter_design.data.specifications import Specification, list_columns
from tasks.filter_design.data.storage import read_designs, read_specifications, write_specifications
from tasks.filter_design.data.theorem import compute_limit, is_possible
from tasks.filter_design.expectations import find_leaks
from tasks.filter_design.params import FilterParams
from tasks.filter_design.task import TASK


def draw(num_rows: int = 600, **changes: Any) -> list[Specification]:
    settings = build_params().data.generated
    random = np.random.default_rng(0)
    return draw_specifications(settings.model_copy(update=changes), num_rows, random)


def test_rows_are_impossible_by_as_much_as_params_say() -> None:
    rows = draw()
    slack = np.array([compute_limit(one, one.max_order) - one.min_attenuation_db for one in rows])
    possible = np.array([is_possible(one) for one in rows])
    is_closed = np.array([one.order is not None for one in rows])
    assert 0.1 < 1 - possible.mean() < 0.2
    assert (slack[~possible] <= -0.29).all()
    assert (slack[~possible] >= -3.01).all()
    assert (slack[possible & is_closed] >= 0.69).all()
    assert (slack[possible & is_closed] <= 6.01).all()
    assert min(one.min_attenuation_db for one in rows) >= 6


@pytest.fixture(scope="module")
def validated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as ingest and validate leave it; tests change copies."""
    folder = tmp_path_factory.mktemp("validated")
    with contextlib.chdir(folder):
        ingest(build_params(), TASK)
        validate(build_params(), TASK)
    return folder


@pytest.fixture
def accepted(validated: Path, folder: Path) -> FilterParams:
    shutil.copytree(validated, folder, dirs_exist_ok=True)
    return build_params()


def change_test(specifications: list[Specification]) -> None:
    """Write other test specifications, with a manifest and a seal that fit them."""
    write_specifications(layout.EXAMPLES, "test", specifications)
    seal_changed_examples(TASK)


def test_copied_specifications_are_rejected_and_counted(accepted: FilterParams) -> None:
    train, test = (read_specifications(layout.EXAMPLES, name) for name in ("train", "test"))
    change_test([*train[:20], *test[20:]])
    leaks = {(leak.kind, leak.split): leak for leak in find_leaks(accepted, layout.EXAMPLES)}
    assert leaks["exact", "test"].num_leaked == 20
    assert "also in train" in leaks["exact", "test"].examples[0]
    assert leaks["near", "test"].num_leaked == 0
    with pytest.raises(RejectedError, match="repeats:"):
        validate(accepted, TASK)


def test_nearly_equal_specifications_are_counted(accepted: FilterParams) -> None:
    train, test = (read_specifications(layout.EXAMPLES, name) for name in ("train", "test"))
    near = [replace(one, q_inductor=1.004 * one.q_inductor) for one in train[:20]]
    change_test([*near, *test[20:]])
    leaks = {(leak.kind, leak.split): leak for leak in find_leaks(accepted, layout.EXAMPLES)}
    assert leaks["near", "test"].num_leaked == 20
    assert leaks["exact", "test"].num_leaked == 0


def test_shuffled_designs_stay_within_kind_and_order(tmp_path: Path) -> None:
    examples = write_examples(build_params(), tmp_path)
    target = tmp_path / "shuffled"
    target.mkdir()
    shuffle_labels(examples, target, 3, 50)
    assert read_specifications(target, "train") == read_specifications(examples, "train")[:50]
    labels = [one.label for one in read_specifications(target, "train")]
    before, after = read_designs(examples, "train")[:50], read_designs(target, "train")
    for table in (before, after):
        table["ratios"] = [tuple(ratios) for ratios in table["ratios"]]
    for label in set(labels):
        own = [place for place, name in enumerate(labels) if name == label]
        assert sorted(after["ratios"].iloc[own]) == sorted(before["ratios"].iloc[own])
    assert list(before["ratios"]) != list(after["ratios"])


def list_cells(rows: list[Specification]) -> dict[str, list[Any]]:
    """The columns of a file of specifications: edges are separated by a space."""
    columns = list_columns(rows)
    for name in ("pass_hz", "stop_hz"):
        columns[name] = [" ".join(f"{edge:.12g}" for edge in edges) for edges in columns[name]]
    return columns


def write_source(rows: list[Specification], path: Path) -> Path:
    """Write a CSV file of specifications."""
    pd.DataFrame(list_cells(rows)).to_csv(path, index=False)
    return path


def build_file_params(path: Path) -> FilterParams:
    values = list_values()
    values["data"] |= {"source": str(path), "generated": None}
    values["data"] |= {"split": {"validation": 0.2, "test": 0.3}}
    return FilterParams.model_validate(values)


def test_specifications_of_a_file_are_divided_by_their_digest(tmp_path: Path) -> None:
    rows = draw(60)
    path = write_source([*rows, rows[0]], tmp_path / "own.csv")
    examples = write_examples(build_file_params(path), tmp_path)
    parts = {split: read_specifications(examples, split) for split in SPLITS}
    everything = [one for part in parts.values() for one in part]
    assert sorted(one.digest for one in everything) == sorted(one.digest for one in rows)
    assert min(len(part) for part in parts.values()) > 3


def test_cells_without_a_number_have_the_defaults(tmp_path: Path) -> None:
    """The predictor takes NaN as left out, and so must the specification that judges it."""
    rows = draw(60)
    rows[1] = replace(rows[1], q_inductor=math.nan)
    path = write_source(rows, tmp_path / "own.csv")
    text = path.read_text().splitlines()
    cells = text[1].split(",")
    cells[5:] = [""] * 5
    path.write_text("\n".join([text[0], ",".join(cells), *text[2:]]))
    examples = write_examples(build_file_params(path), tmp_path)
    everything = [one for split in SPLITS for one in read_specifications(examples, split)]
    defaults = {"order": None, "z0_ohm": 50.0, "q_inductor": 100.0, "q_capacitor": 1000.0}
    assert replace(rows[0], **defaults, series="E24") in everything
    assert replace(rows[1], q_inductor=100.0) in everything


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("order", "4", "own.csv, row .*: order: "),
        ("max_loss_db", "one", "row .*: max_loss_db: "),
        ("stop_hz", "1", "row .*: stop_hz: "),
    ],
)
def test_a_row_of_a_file_that_cannot_be_meant_is_named(
    tmp_path: Path, name: str, value: str, message: str
) -> None:
    table = list_cells([build_specification()])
    table[name] = [value]
    path = tmp_path / "own.csv"
    pd.DataFrame(table).to_csv(path, index=False)
    with pytest.raises(DataError, match=message):
        write_examples(build_file_params(path), tmp_path)


def build_generated_params(**changes: Any) -> FilterParams:
    """The recipe with few rows, drawn from other ranges."""
    values = list_values()
    rows = {"train": 30, "validation": 10, "test": 10}
    values["data"]["generated"] |= {"rows": rows, **changes}
    values["data"]["search_calls"] = 1
    return FilterParams.model_validate(values)


def test_ranges_that_give_no_row_are_named(tmp_path: Path) -> None:
    params = build_generated_params(
        kinds={"low-pass": 1.0},
        open_order=0.0,
        orders=[3],
        impossible=0.0,
        stop_ratio={"low": 1.01, "high": 1.02},
    )
    message = "1000 specifications in a row cannot be used, .*less than 6 dB; change stop_ratio"
    with pytest.raises(DataError, match=message):
        write_examples(params, tmp_path)
