"""A YAML file is parsed once a process for each text that it has, and each reader has a copy."""

from pathlib import Path

from plumbline.contract.yaml_file import load_yaml


def test_what_one_reader_changes_the_next_one_does_not_see(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text("data: {columns: [text]}\n", encoding="utf-8")
    values = load_yaml(path)
    values["data"]["columns"].append("label")
    values["seed"] = 7
    assert load_yaml(path) == {"data": {"columns": ["text"]}}
