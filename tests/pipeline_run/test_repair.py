"""The table of what was read before may be damaged: then every file is read again."""

from pathlib import Path

import pytest

from plumbline.pipeline_run import repair


@pytest.mark.parametrize("text", ["", "{", "null", "3", "[1]", '{"a": 3}', '{"a": []}'])
def test_a_damaged_table_is_as_none(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    repair.TABLE.parent.mkdir()
    repair.TABLE.write_text(text)
    assert repair.repair_outputs(all_must_match=False) == []
