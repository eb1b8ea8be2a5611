"""Which rows of a log of requests are compared: the newest, and no file is read in vain."""

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest
from tests.support.s3_server import serve_bucket

from plumbline.contract.errors import DataError, ParamsError
from plumbline.drift import window
from plumbline.registry.reader.verified_cache import CachedVersion
from plumbline.sources.request_folder import RequestFolder

CHAMPION = CachedVersion("line", "1", "ab" * 32, "line", Path("bundle"), Path("golden.json"))


def write_log(folder: Path, hour: int, host: str, *xs: float) -> None:
    at = datetime(2026, 11, 20, hour, tzinfo=UTC)
    about = {"at": at, "model": "line", "version": "1", "side": "champion", "ms": 1.0}
    rows = pd.DataFrame({"input.x": xs, "output.y": xs}).assign(**about, request_id="a")
    folder.mkdir(exist_ok=True)
    rows.to_parquet(folder / f"requests-{at:%Y%m%dT%H%M%S}-{host}-1.parquet")


@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_the_newest_files_of_all_hosts_are_read_until_there_are_enough_rows(
    tmp_path: Path, form: str
) -> None:
    log = tmp_path / "log"
    for hour, host, xs in ((3, "b", (3.0, 4.0)), (2, "a", (2.0,)), (1, "c", (0.0, 1.0))):
        write_log(log, hour, host, *xs)
    (log / "requests-20261119T000000-a-1.parquet").write_bytes(b"no Parquet")
    (log / "notes.txt").write_text("not a log")
    rows = window.load_current(form.format(log), CHAMPION, 4).rows
    assert rows.columns.tolist() == ["input.x", "output.y"]
    assert rows["input.x"].tolist() == [1.0, 2.0, 3.0, 4.0]
    since = datetime(2026, 11, 20, 2, tzinfo=UTC)
    rows = window.load_current(form.format(log), CHAMPION, 99, since).rows
    assert rows["input.x"].tolist() == [2.0, 3.0, 4.0]
    with pytest.raises(DataError, match=r"requests-20261119T000000-a-1\.parquet: not a log"):
        window.load_current(form.format(log), CHAMPION, 99)


def test_of_a_pair_the_champions_answer_counts_and_a_row_without_one_does_not(
    tmp_path: Path,
) -> None:
    about = {"at": datetime(2026, 11, 20, tzinfo=UTC), "model": "line", "request_id": "a"}
    rows = pd.DataFrame(
        {
            "row": [0, 0, 1, 1],
            "version": ["1", "2", "1", "2"],
            "side": ["champion", "canary"] * 2,
            "shown": [False, True] * 2,
            "draw": [0.5] * 4,
            "input.x": [1.0, 1.0, 2.0, 2.0],
            "output.y": [3.0, 4.0, None, 5.0],
        }
    )
    rows.assign(**about).to_parquet(tmp_path / "requests-20261120T000001-a.parquet")
    read = window.load_current(str(tmp_path), CHAMPION, 9).rows
    assert read.to_dict("list") == {"input.x": [1.0], "output.y": [3.0]}


def test_a_file_gets_its_name_once_it_is_complete(tmp_path: Path) -> None:
    """A check reads what is named after the last check: a name from before would never be read."""

    def choose_name() -> str:
        (hidden,) = tmp_path.iterdir()
        assert hidden.read_bytes() == b"complete"
        assert RequestFolder(str(tmp_path)).list_names() == []
        return "requests-20261120T000000-a-1.parquet"

    RequestFolder(str(tmp_path)).write(choose_name, b"complete")
    assert [path.name for path in tmp_path.iterdir()] == ["requests-20261120T000000-a-1.parquet"]


def test_a_log_in_a_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_bucket("logs", monkeypatch) as store:
        with pytest.raises(DataError, match="s3://logs/day: cannot be read"):
            window.load_current("s3://logs/day", CHAMPION, 9)
        write_log(tmp_path / "log", 1, "a", 1.0, 2.0)
        (file,) = (tmp_path / "log").iterdir()
        RequestFolder("s3://logs/day/").write(lambda: file.name, file.read_bytes())
        assert store.ls("logs/day") == [f"logs/day/{file.name}"]
        rows = window.load_current("s3://logs/day", CHAMPION, 9).rows
        for _ in range(2):
            RequestFolder("s3://logs/day").delete(file.name)
        assert not store.exists(f"logs/day/{file.name}")
    assert rows["input.x"].tolist() == [1.0, 2.0]


def test_where_there_is_no_log_the_address_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no requests-\*\.parquet there"):
        window.load_current(str(tmp_path), CHAMPION, 9)
    with pytest.raises(DataError, match="nowhere: no requests-"):
        window.load_current(f"file://{tmp_path}/nowhere", CHAMPION, 9)
    with pytest.raises(ParamsError, match="not a folder for requests"):
        window.load_current("https://example.org/requests", CHAMPION, 9)


def test_a_log_is_the_same_however_it_is_written(folder: Path) -> None:
    (folder / "log").mkdir()
    (folder / "link").symlink_to("log")
    (folder / "rows.csv").touch()
    forms = ["log", "./log/", "link", f"{folder}/log", f"file://{folder}/log"]
    (digest,) = {window.digest_log(form) for form in forms}
    assert digest is not None
    assert len(digest) == 12
    assert digest != window.digest_log(".")
    assert window.digest_log("rows.csv") is None
