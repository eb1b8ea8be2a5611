"""The selftest's warm Python: what it runs sees what a new, isolated Python would see."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from plumbline.registry.package import clean_run
from plumbline_selftest.warm_python import WarmPython

SEEN = """
import json, os, pathlib, sys, tempfile
seen = {
    "arguments": sys.argv[1:],
    "folder": os.getcwd(),
    "environment": dict(os.environ),
    "path": sys.path,
    "temporary": tempfile.gettempdir(),
    "stdin": sys.stdin.read(),
    "odd": [name for name in ("odd", "plumbline", "torch") if name in sys.modules],
    "bytecode": sys.dont_write_bytecode,
}
sys.modules["odd"] = json
pathlib.Path(sys.argv[1]).write_text(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmPython]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clean_run, "PYTHON", sys.executable)  # not a fork, as in other tests
        python = WarmPython(tmp_path_factory.mktemp("warm"))
        yield python
        python.close()


def see(launch: clean_run.Launch, folder: Path) -> dict[str, object]:
    folder.mkdir(exist_ok=True)
    environment = clean_run.build_environment(folder) | {"LC_CTYPE": "C.UTF-8"}
    (folder / "tmp").mkdir(exist_ok=True)
    ended = launch(SEEN, [str(folder / "seen")], folder, environment, 60)
    assert (ended.status, ended.messages) == (0, "")
    seen: dict[str, object] = json.loads((folder / "seen").read_text())
    return seen


def test_a_program_sees_what_a_new_python_sees(warm: WarmPython, tmp_path: Path) -> None:
    new = see(clean_run.launch, tmp_path / "one")
    assert see(warm.launch, tmp_path / "one") == new
    assert see(warm.launch, tmp_path / "one") == new  # nothing is left of the program before


def test_a_program_that_takes_too_long_is_killed(warm: WarmPython, tmp_path: Path) -> None:
    assert warm.launch("import time; time.sleep(60)", [], tmp_path, {}, 0.2).status is None
    assert warm.launch("pass", [], tmp_path, {}, 60).status == 0
