"""params.yaml is valid, and fits dvc.yaml and the columns of the source."""

import subprocess
from pathlib import Path

import pytest

from plumbline.contract.loading import load_params, load_task
from plumbline.contract.params import Params
from plumbline.sources.parts import locate_parts
from plumbline.tables.records import ReadRequest, WantedColumn
from plumbline.tasks.text_classification.params import TextParams

NUM_ROWS = 1000  # that are read of each file


def read_params() -> Params:
    return load_params(Path("params.yaml"))


def test_params_are_valid_and_name_a_task() -> None:
    params = read_params()
    assert load_task(params.task).name == params.task


def test_every_candidate_has_a_stage() -> None:
    done = subprocess.run(
        ["dvc", "stage", "list", "--name-only"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert {f"train@{name}" for name in read_params().candidates} <= set(done.stdout.split())


def test_the_first_rows_of_the_source_can_be_read() -> None:
    params = read_params()
    if not isinstance(params, TextParams):
        pytest.skip("this test knows the columns of text_classification")
    data = params.data
    sources = data.list_sources()
    if not sources or not all(Path(address).is_file() for address in sources):
        pytest.skip("the source is not a file in this repository")
    columns = data.columns
    has_lists = columns.label_separator is not None
    wanted = (
        WantedColumn(columns.text, "data.columns"),
        *(
            WantedColumn(name, "data.columns", may_be_list=has_lists)
            for name in columns.list_labels()
        ),
        *(WantedColumn(name, "data.columns") for name in columns.metadata),
    )
    for part in locate_parts([(None, address) for address in sources], data.sha256):
        rows = part.read_rows(ReadRequest(wanted, refuse_encoding=False))
        firsts = [row.values for row, _ in zip(rows, range(NUM_ROWS), strict=False)]
        filled = [values for values in firsts if values[0] and values[1]]
        assert filled, f"{part.name}: no row has a text and a label"
