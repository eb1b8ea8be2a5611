"""The source has the columns that params.yaml names, and rows with a text and a label."""

from pathlib import Path

import pytest

from plumbline.contract.loading import load_params
from plumbline.sources.parts import locate_parts
from plumbline.tables.records import ReadRequest, WantedColumn
from plumbline.tasks.text_classification.params import TextParams

NUM_ROWS = 1000  # that are read of each file


def test_the_first_rows_can_be_read() -> None:
    params = load_params(Path("params.yaml"))
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
