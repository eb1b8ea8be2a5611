"""A tar archive writes below one folder alone, on every Python that plumbline runs on."""

import io
import tarfile
from pathlib import Path

import pytest

from plumbline.process.tar_files import extract_file


def write_archive(path: Path, name: str, kind: bytes = tarfile.REGTYPE) -> Path:
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo(name)
        member.size, member.type = 4, kind
        archive.addfile(member, io.BytesIO(b"text"))
    return path


def extract_first(path: Path, folder: Path) -> None:
    with tarfile.open(path) as archive:
        extract_file(archive, archive.getmembers()[0], folder)


def test_a_file_is_written_in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(tarfile, "data_filter", raising=False)  # as in Debian 12
    extract_first(write_archive(tmp_path / "a.tar", "b/c.txt"), tmp_path / "out")
    assert (tmp_path / "out/b/c.txt").read_bytes() == b"text"


@pytest.mark.parametrize("name", ["../climbed", "b/../../climbed", "/climbed"])
def test_a_name_that_leads_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "a.tar", name)
    with tarfile.open(archive) as opened:
        (member,) = opened.getmembers()
        with pytest.raises(ValueError, match="leads out of the folder"):
            extract_file(opened, member, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["a.tar"]


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "a.tar", "folder", tarfile.DIRTYPE)
    with pytest.raises(ValueError, match="is not a file"):
        extract_first(archive, tmp_path / "out")
