"""What somebody plants in registry and journal is caught where it would decide something."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.racing import NAME, add_version, make_first_champion
from tests.support.serving.models import line_task

from plumbline.contract import layout
from plumbline.contract.errors import PlumblineError
from plumbline.contract.params import Params
from plumbline.registry import promotion
from plumbline.registry.reader import open_version
from plumbline_selftest.protocol import Command, Fault
from plumbline_selftest.registry_faults import FAULTS

# MLflow, in this process, warns about its own libraries.
pytestmark = pytest.mark.filterwarnings("ignore")
# Plants that need no evaluation; `plumbline selftest` plants the others too.
PLANTED = [fault for fault in FAULTS if fault.before in ("promote", "rollback", "load")]


@dataclass
class RegistrySite:
    """A checkout of which only registry, journal and evidence are there."""

    params: Params

    def run(self, command: Command) -> None:
        if command == "promote":
            promotion.promote(NAME, "2", "1", "a test")
        elif command == "rollback":
            promotion.roll_back(NAME, None, "a test")
        else:
            with open_version(f"models:/{NAME}@champion", require_journal=True) as champion:
                champion.load_predictor()


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with a champion and the version that may follow it."""
    root = tmp_path_factory.mktemp("registered")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        add_version(root, 1)
        make_first_champion("1")
        add_version(root, 2)
    (root / layout.PARAMS).write_text("{}")
    (root / "reports").mkdir()
    (root / "evidence.json").rename(root / layout.EVIDENCE)
    return root


@pytest.fixture
def site(registered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RegistrySite:
    """A copy of it as the cwd; the files of its versions are shared."""
    here = tmp_path / "here"
    shutil.copytree(registered, here, ignore=shutil.ignore_patterns("artifacts"))
    monkeypatch.chdir(here)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    params, _ = line_task(monkeypatch)
    return RegistrySite(params)


@pytest.mark.parametrize("fault", PLANTED, ids=lambda fault: fault.name)
def test_what_is_planted_is_caught(site: RegistrySite, fault: Fault) -> None:
    if fault.before != "promote":
        site.run("promote")
    fault.plant(site)  # type: ignore[arg-type]  # a site of fewer things
    if fault.verdict == "pass":
        site.run(fault.before)
        return
    with pytest.raises(PlumblineError) as caught:
        site.run(fault.before)
    assert fault.gate in str(caught.value)
