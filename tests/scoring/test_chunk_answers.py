"""What a model answers to a chunk of rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from plumbline.contract.errors import PlumblineError
from plumbline.contract.task import Field, Signature
from plumbline.scoring.answers import answer_chunk
from plumbline.scoring.chunks import Chunk

SIGNATURE = Signature((Field("x", "double"),), (Field("y", "double"),), ())


def leave_last_row_out(columns: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    return {"y": list(columns["x"])[:-1]}


def test_a_model_that_leaves_rows_out_is_named() -> None:
    chunk = Chunk(Path("rows.csv"), 0, 3, 1.0, {"x": [1.0, 2.0, 3.0]}.__getitem__)
    with pytest.raises(PlumblineError, match="answered 2 of 3 rows in its column y"):
        answer_chunk(leave_last_row_out, SIGNATURE, chunk, keep_bad=False)
