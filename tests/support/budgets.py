"""How much each part may weigh, beside what it weighs.

Rooms are folders: what moves is counted where it is, and a folder that does not exist has 0 lines.
Until the budgets are reached, no part may grow beyond what ceilings.json says of it.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.walk import Walk

CEILINGS = Path(__file__).with_name("ceilings.json")
# Lines of the rooms of src/plumbline; a room that is not named here is to move or to go.
ROOMS = {
    "contract": 1_610,
    "process": 640,
    "tables": 1_100,
    "sources": 890,
    "scoring": 910,
    "statistics": 800,
    "quality": 330,
    "training": 760,
    "tracking": 450,
    "registry": 3_300,
    "evidence": 3_420,
    "reporting": 640,
    "stages": 620,
    "bundle": 770,
    "serving": 2_280,
    "drift": 750,
    "tuning": 460,
    "init": 960,
    "ci": 400,
    "diagnostics": 860,
    "cli": 1_540,
    "terminal": 150,
    "pipeline_run": 280,
    "(files at the top)": 105,
}
ENGINE = 24_500
TEXT_CLASSIFICATION = 8_000
OTHER_TASKS = 9_500
SELFTEST = 2_500
CONSULT = 1_500
# What may be read behind a stage: lines that imports reach; calls into other modules, and modules.
STAGES = {"evaluate": (6_000, 60, 25), "register": (6_000, 50, 20)}


@dataclass(frozen=True)
class Weight:
    """A part, what it weighs, and how much it may; None: whatever it likes."""

    name: str
    value: int
    budget: int | None

    @property
    def surplus(self) -> int:
        """How much is to be taken away."""
        return 0 if self.budget is None else max(0, self.value - self.budget)


def list_weights(root: Path) -> Iterator[Weight]:
    """Weigh all parts of the checkout `root`."""
    yield from weigh_files(root)
    yield Weight("keys of params.yaml", count_keys(_read_yaml(root / "params.yaml")), 90)
    num_commands, num_options = count_commands(root / "src")
    yield Weight("commands", num_commands, 24)
    yield Weight("options of serve", num_options, 12)
    stages = _read_yaml(root / "dvc.yaml")["stages"].values()
    num_dependencies = sum(len(stage.get("do", stage)["deps"]) for stage in stages)
    yield Weight("dependencies in dvc.yaml", num_dependencies, None)
    for stage in STAGES:
        yield from weigh_stage(root / "src", stage)


def weigh_files(root: Path) -> Iterator[Weight]:
    """Weigh the source, the tests, the benchmarks and the pages."""
    yield from weigh_rooms(root / "src")
    tests, helpers, benchmarks = root / "tests", root / "tests/support", root / "benchmarks"
    yield Weight("tests, lines (helpers in it)", count_lines(tests), 30_000)
    yield Weight("tests/support, lines", count_lines(helpers), 4_000)
    yield Weight("benchmarks, lines", count_lines(benchmarks), 3_000)
    generated = ("commands", "gates", "params", "selftest", "server")  # and params-*
    pages = [p for p in root.glob("docs/**/*.md") if p.stem.partition("-")[0] not in generated]
    yield Weight("docs, words", sum(map(count_words, pages)), 35_000)
    yield Weight("CHANGELOG.md, words", count_words(root / "CHANGELOG.md"), 2_000)


def list_grown(root: Path) -> list[str]:
    """Name what weighs more than its ceiling, and more than its budget."""
    ceilings = json.loads(CEILINGS.read_text(encoding="utf-8"))
    limits = {w: max(w.budget or 0, ceilings.get(w.name, 0)) for w in weigh_files(root)}
    return [
        f"{weight.name}: {weight.value:,}, at most {limit:,}"
        for weight, limit in limits.items()
        if weight.budget is not None and weight.value > limit
    ]


def lower_ceilings(root: Path) -> None:
    """Write what each part weighs now as its ceiling, where that is less."""
    old = json.loads(CEILINGS.read_text(encoding="utf-8"))
    weights = [weight for weight in weigh_files(root) if weight.budget is not None]
    new = {w.name: min(w.value, old.get(w.name, w.value)) for w in weights}
    CEILINGS.write_text(json.dumps(new, indent=2) + "\n", encoding="utf-8")


def weigh_rooms(source: Path) -> Iterator[Weight]:
    """Weigh the rooms of the engine, the tasks, and the packages beside the engine."""
    engine, tasks = source / "plumbline", (source / "plumbline/tasks", source / "tasks")
    folders = {path.name for path in engine.iterdir() if path.is_dir()} - {"tasks", "__pycache__"}
    loose = "(files at the top)"
    for room in [*ROOMS, *sorted(folders - set(ROOMS))]:
        pattern, folder = ("*.py", engine) if room == loose else ("**/*.py", engine / room)
        yield Weight(f"plumbline/{room}", count_lines(folder, pattern), ROOMS.get(room, 0))
    num_tasks = sum(map(count_lines, tasks))
    num_texts = sum(count_lines(folder / "text_classification") for folder in tasks)
    num_engine = count_lines(engine) - count_lines(tasks[0])
    yield Weight("plumbline without tasks, lines", num_engine, ENGINE)
    yield Weight("text_classification", num_texts, TEXT_CLASSIFICATION)
    yield Weight("the other tasks", num_tasks - num_texts, OTHER_TASKS)
    yield Weight("plumbline_selftest", count_lines(source / "plumbline_selftest"), SELFTEST)
    yield Weight("plumbline_consult", count_lines(source / "plumbline_consult"), CONSULT)
    whole = ENGINE + TEXT_CLASSIFICATION + OTHER_TASKS + SELFTEST + CONSULT
    yield Weight("src, lines", count_lines(source), whole)
    yield Weight("src, modules", len(list(source.rglob("*.py"))), None)


def count_lines(folder: Path, pattern: str = "**/*.py") -> int:
    """Count the lines of the modules in a folder; 0 where it does not exist."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in folder.glob(pattern))


def count_words(path: Path) -> int:
    """Count what blanks divide."""
    return len(path.read_text(encoding="utf-8").split())


def count_keys(value: Any) -> int:
    """Count the keys that hold a value: those of a mapping in place of the mapping itself."""
    return sum(map(count_keys, value.values())) if isinstance(value, dict) and value else 1


def count_commands(source: Path) -> tuple[int, int]:
    """Count the commands, those of groups and hidden ones too, and the options of `serve`."""
    code = f"import sys; sys.path.insert(0, {str(source)!r})\n{COUNT_COMMANDS}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    num_commands, num_options = done.stdout.split()
    return int(num_commands), int(num_options)


COUNT_COMMANDS = """
from typer.main import get_command
from plumbline.cli import app
def count(command):
    return sum(map(count, command.commands.values())) if hasattr(command, "commands") else 1
command = get_command(app)
options = [p for p in command.commands["serve"].params if p.param_type_name == "option"]
print(count(command), len(options))
"""


def weigh_stage(source: Path, stage: str) -> Iterator[Weight]:
    """Weigh what is behind a stage: what an import can reach, and where its calls lead."""
    import grimp

    max_lines, max_calls, max_modules = STAGES[stage]
    name = f"plumbline.stages.{stage}"
    sys.path.insert(0, str(source))
    graph = grimp.build_graph("plumbline", cache_dir=None)
    reached = {name, *graph.find_upstream_modules(name)}
    files = [source.joinpath(*module.split(".")) for module in reached]
    lines = sum(count_lines(path.parent, f"{path.name}.py") for path in files)
    lines += sum(count_lines(path, "__init__.py") for path in files)
    yield Weight(f"modules that {stage} can import", len(reached), None)
    yield Weight(f"lines that {stage} can import", lines, max_lines)
    walk = Walk(source)
    walk.follow(name, stage)
    yield Weight(f"calls of {stage} that enter another module", len(walk.entered), max_calls)
    yield Weight(f"modules that {stage} enters", len(set(walk.entered)), max_modules)


def _read_yaml(path: Path) -> Any:
    from ruamel.yaml import YAML

    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))
