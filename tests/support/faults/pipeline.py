"""The pipeline of a task that takes seconds, into which faults are injected."""

import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from tests.support.checkouts import LINE, ROOT

SMALLEST = LINE.name
FIXTURES = {
    path.parents[1].name: path for path in sorted(ROOT.glob("src/**/tasks/*/faults/params.yaml"))
}
DECISIONS = ("promote", "rollback")
REASON = ("--reason", "a test")


@dataclass(frozen=True)
class Pipeline:
    """The smallest task, which only tests have, or the small pipeline that a task's faults have.

    With `params` the task runs as that file says.
    """

    task: str
    params: Path | None = None

    @cached_property
    def stages(self) -> dict[str, str]:
        """The name of each stage, in their order, with that which DVC has for it."""
        names = ["ingest", "validate"]
        names += [f"train {name}" for name in self._params["candidates"]]
        names += [f"control {name}" for name in self._params["control"]["candidates"]]
        return {name: name.replace(" ", "@") for name in [*names, "evaluate", "register"]}

    def get_command(self, name: str) -> list[str]:
        """Return the command of a stage, or of a decision on the second version of the model."""
        if name == "promote":
            return ["plumbline", name, self.model, "2", "--expect", "1", "--override", *REASON]
        if name == "rollback":
            return ["plumbline", name, self.model, "--expect", "2", *REASON]
        script, *candidate = name.split()
        return ["python", "-P", f"pipelines/{script}.py", *candidate]

    def write_files(self, checkout: Path) -> None:
        """Write params.yaml, and the task where plumbline does not have it."""
        shutil.copy2(self._path, checkout / "params.yaml")
        if self.task == SMALLEST:
            ignored = shutil.ignore_patterns("params.yaml", "__pycache__")
            target = checkout / "src/tasks" / self.task
            shutil.copytree(LINE, target, ignore=ignored)

    def write_other_params(self, checkout: Path) -> None:
        """Change the seed in params.yaml: the model becomes another one, and may be as good."""
        path, seed = checkout / "params.yaml", self._params["seed"]
        text = path.read_text(encoding="utf-8")
        for old, new in (
            (f"\nseed: {seed}\n", f"\nseed: {seed + 1}\n"),
            ("{policy: better, margin: 0.0}", "{policy: not-worse, margin: 0.5}"),
        ):
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")

    @property
    def model(self) -> str:
        """The name of the registered model."""
        return str(self._params["registry"]["model"])

    @property
    def _path(self) -> Path:
        if self.params is not None:
            return self.params
        if self.task == SMALLEST:
            return LINE / "params.yaml"
        return FIXTURES[self.task]

    @cached_property
    def _params(self) -> dict[str, Any]:
        return dict(YAML(typ="safe").load(self._path))


def list_tasks() -> list[str]:
    """List the tasks that have a small pipeline."""
    return [SMALLEST, *FIXTURES]
