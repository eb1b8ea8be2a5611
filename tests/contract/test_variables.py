"""PLUMBLINE_ variables: a misspelt one is an error, and the list of known ones is complete."""

import re

import pytest
from tests.support.checkouts import ROOT

from plumbline.contract.errors import ParamsError
from plumbline.contract.variables import NAMES, PREFIX, refuse_misspelt_variables


def test_each_variable_that_is_read_is_known() -> None:
    read: set[str] = set()
    for path in (ROOT / "src/plumbline").rglob("*.py"):
        read |= set(re.findall(rf'"{PREFIX}([A-Z_]+)"', path.read_text(encoding="utf-8")))
    assert read == set(NAMES)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("PUBLICKEY", "PUBLIC_KEY"), ("JOURNAL_URL", "JOURNAL_URI"), ("CACHE_DIR", "CACHE")],
)
def test_a_misspelt_variable_is_an_error(
    name: str, meant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"PLUMBLINE_{name}", "x")
    with pytest.raises(ParamsError, match=rf"PLUMBLINE_{name} is .*mean PLUMBLINE_{meant}\?"):
        refuse_misspelt_variables()


def test_other_variables_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PORT", "SERVICE_HOST", "RUNNER", "TEST_DATA"):
        monkeypatch.setenv(f"PLUMBLINE_{name}", "x")
    refuse_misspelt_variables()
