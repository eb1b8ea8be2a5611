"""Artifacts are whole or not there."""

from pathlib import Path

import pytest

from plumbline.contract import layout


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    layout.write_json(path, {"one": 1})

    def interrupted() -> None:
        with layout.write_aside(path) as aside:
            aside.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert layout.read_json(path) == {"one": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_json_is_strict_and_stable(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    layout.write_json(path, {"b": 1, "a": "é"})
    assert path.read_bytes() == '{\n  "a": "é",\n  "b": 1\n}\n'.encode()
    with pytest.raises(ValueError, match="not JSON compliant"):
        layout.write_json(path, {"a": float("nan")})
    assert layout.read_json(path) == {"b": 1, "a": "é"}


def test_endless_nesting_is_an_error_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("[" * 100_000)
    with pytest.raises(ValueError, match="nested too deeply"):
        layout.read_json(path)


def test_publish_replaces_a_folder(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.txt").write_text(name)
    layout.publish(tmp_path / "new", tmp_path / "old")
    assert [p.name for p in (tmp_path / "old").iterdir()] == ["new.txt"]


def test_a_folder_s_digest_sees_names_and_contents(tmp_path: Path) -> None:
    def made(name: str, file: str, text: str) -> str:
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(text)
        return layout.digest(tmp_path / name)

    one = made("one", "a", "x")
    assert one == made("two", "a", "x")
    assert len({one, made("three", "b", "x"), made("four", "a", "y")}) == 3
