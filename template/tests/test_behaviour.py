"""What the champion has to know: the rows of behaviour.csv, which are for you to write."""

import csv
import json
import subprocess
from pathlib import Path

import pytest

from plumbline.contract.loading import load_params

CASES = Path(__file__).with_name("behaviour.csv")


def read_cases() -> list[dict[str, str]]:
    with CASES.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def has_champion() -> bool:
    name = load_params(Path("params.yaml")).registry.model
    command = ["plumbline", "champion", name]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_the_champion_answers_every_case() -> None:
    cases = read_cases()
    if not cases:
        pytest.skip("tests/behaviour.csv has no rows yet: write a text and its label in each")
    if not has_champion():
        pytest.skip("no model is registered here yet: `make run`")
    done = subprocess.run(
        ["plumbline", "predict", "--json", "-"],
        input="\n".join(case["text"] for case in cases),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line)["label"] for line in done.stdout.splitlines()]
    wrong = [
        f"{case['text']!r}: expected {case['label']}, found {answer}"
        for case, answer in zip(cases, answers, strict=True)
        if answer != case["label"]
    ]
    assert not wrong, "\n".join(wrong)
