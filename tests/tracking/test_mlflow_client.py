"""The connection to MLflow."""

import os
import stat
from pathlib import Path

import pytest

from plumbline.registry import journal, model_versions

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow warns about its own libraries


def test_a_group_may_write_what_its_umask_lets_it_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    before = os.umask(0o002)
    try:
        model_versions.connect_registry()
        with journal.lock_journal():
            pass
    finally:
        os.umask(before)
    for path in (tmp_path / "mlruns").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o664, path
