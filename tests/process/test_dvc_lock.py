"""A pipeline that DVC could not read is named by file and line, with the remedy."""

from pathlib import Path

import pytest

from plumbline.contract.errors import ParamsError
from plumbline.process.dvc_lock import check_files

PIPELINE = "stages:\n  evaluate:\n    cmd: echo\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("dvc.lock", "", r"dvc\.lock: empty; `git checkout dvc\.lock` restores it"),
        (
            "dvc.lock",
            "stages:\n  a:\n    cmd: x\n  evalua",
            r"dvc\.lock: .*`git checkout dvc\.lock` restores it",
        ),
        ("dvc.lock", "<<<<<<< HEAD\n", r"dvc\.lock:1: a merge left its markers here"),
        ("dvc.yaml", "=======\n>>>>>>> x\n", r"dvc\.yaml:2: a merge left its markers here"),
        ("dvc.yaml", "", r"dvc\.yaml: empty; `git checkout dvc\.yaml` restores it"),
        ("dvc.yaml", "stages: [\n", r"dvc\.yaml: line"),
    ],
)
def test_what_cannot_be_read_is_named(
    name: str, text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("dvc.yaml").write_text(PIPELINE, encoding="utf-8")
    Path("dvc.lock").write_text("stages: {}\n", encoding="utf-8")
    check_files()
    Path(name).write_text(text, encoding="utf-8")
    with pytest.raises(ParamsError, match=message):
        check_files()
