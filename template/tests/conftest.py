"""The tests run in the top folder of the repository, where the pipeline does."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def repository(monkeypatch: pytest.MonkeyPatch) -> Path:
    root = Path(__file__).resolve().parents[1]
    monkeypatch.chdir(root)
    return root
