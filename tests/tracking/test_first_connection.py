"""Processes that meet at a registry that is not there yet: one creates it, all can use it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.checkouts import ROOT, get_clean_environment

NUM_PROCESSES = 3
CODE = """
import warnings
warnings.filterwarnings("ignore")
from plumbline.tracking import mlflow_client
print(len(mlflow_client.connect().search_experiments()))
"""


@pytest.mark.slow
def test_processes_with_temporary_folders_of_their_own_create_one_database(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    started = []
    for number in range(NUM_PROCESSES):
        temporary = tmp_path / f"tmp{number}"
        temporary.mkdir()
        variables = {"TMPDIR": str(temporary), "PYTHONPATH": str(ROOT / "src")}
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", CODE],
                cwd=tmp_path / "work",
                env={**get_clean_environment(), **variables, "OMP_NUM_THREADS": "1"},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    ends = [process.communicate(timeout=600) for process in started]
    assert [process.returncode for process in started] == [0] * NUM_PROCESSES, ends
    assert [output.strip() for output, _ in ends] == ["1"] * NUM_PROCESSES
    assert os.listdir(tmp_path / "work/mlruns") == ["mlflow.db"]  # noqa: PTH208
