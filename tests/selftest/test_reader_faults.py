"""The plants that a load must notice, on a registry that has a former champion and a champion."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from tests.support.serving.lines import Lines

from plumbline.contract.errors import PlumblineError
from plumbline.registry.reader import open_version
from plumbline_selftest.protocol import Fault, FaultSite
from plumbline_selftest.reader_faults import FAULTS

# MLflow, in this process, warns about its own libraries.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_load_notices_it(template: Path, tmp_path: Path, fault: Fault) -> None:
    lines = Lines(tmp_path)
    (tmp_path / "mlruns").mkdir()
    for database in (template / "mlruns").glob("*.db"):
        shutil.copy2(database, tmp_path / "mlruns")
    lines.champion("2")
    registry = SimpleNamespace(model="line")
    site = SimpleNamespace(params=SimpleNamespace(registry=registry))
    with lines.here():
        with open_version("models:/line@champion", "predict") as opened:
            opened.load_predictor()
        fault.plant(cast("FaultSite", site))
        with (
            pytest.raises(PlumblineError, match=fault.gate),
            open_version("models:/line@champion", "predict"),
        ):
            pass
