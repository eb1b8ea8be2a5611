"""ingest leaves whole data or the data that was there."""

from pathlib import Path

import pytest

from plumbline.contract.errors import DataError
from plumbline.contract.params import Params
from plumbline.contract.task import Task
from plumbline.process.files import digest_path
from plumbline.stages.ingest import ingest


def files() -> dict[str, str]:
    return {
        str(path): digest_path(path) for path in sorted(Path("data").rglob("*")) if path.is_file()
    }


def test_the_same_params_give_the_same_bytes(line_task: tuple[Params, Task]) -> None:
    ingest(*line_task)
    first = files()
    assert {"data/examples/test.parquet", "data/manifest.parquet", "data/source.json"} <= set(first)
    ingest(*line_task)
    assert files() == first


@pytest.mark.parametrize(
    "failure", [DataError("row 7"), KeyboardInterrupt()], ids=["error", "ctrl-c"]
)
def test_a_failure_leaves_what_was_there(
    line_task: tuple[Params, Task], failure: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    params, task = line_task
    ingest(params, task)
    before = files()

    def half(_: Params, examples: Path, manifest: Path) -> dict[str, object]:
        (examples / "train.parquet").write_bytes(b"half")
        manifest.write_bytes(b"half")
        raise failure

    monkeypatch.setattr(task.data, "ingest", half)
    with pytest.raises(type(failure)):
        ingest(params, task)
    assert files() == before
