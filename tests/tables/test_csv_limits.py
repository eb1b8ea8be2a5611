"""The csv module's limit on cells is raised only where wide cells are allowed."""

import csv
import subprocess
import sys

import pytest

from plumbline.tables.csv_limits import allow_wide_cells

WIDE = "a" * 200_000


def test_wide_cells_are_read_in_the_block_only() -> None:
    before = csv.field_size_limit()
    with allow_wide_cells(300_000):
        assert list(csv.reader([WIDE])) == [[WIDE]]
    assert csv.field_size_limit() == before


def test_the_limit_is_restored_after_an_error() -> None:
    before = csv.field_size_limit()
    with pytest.raises(csv.Error), allow_wide_cells(100_000):
        list(csv.reader([WIDE]))
    assert csv.field_size_limit() == before


def test_no_import_changes_the_limit() -> None:
    program = (
        "import csv; before = csv.field_size_limit()\n"
        "import plumbline.serving.request_body, plumbline.tables.batches\n"
        "assert csv.field_size_limit() == before"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
