"""What each part weighs beside its budget, and how dense the code is.

    python -m tests.support.census [--lower]

prints it; --lower writes what was taken away into ceilings.json. Until the budgets are reached, no
part may grow beyond what ceilings.json says of it (tests/test_census.py). Rooms are folders: what
moves is counted where it is, and a folder that does not exist has 0 lines.
"""

import ast
import io
import json
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
SHIPPED = ROOT / "recipes/text_classification.yaml"  # params.yaml is its copy
CEILINGS = Path(__file__).with_name("ceilings.json")
# Lines of the rooms of src/plumbline; a room that is not named here is to move or to go.
ROOMS = {
    "contract": 1_610,
    "process": 640,
    "tables": 1_100,
    "sources": 890,
    "scoring": 910,
    "statistics": 800,
    "encoders": 820,
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
ENGINE = 25_300
TEXT_CLASSIFICATION = 7_200
OTHER_TASKS = 11_400
SELFTEST = 2_500
CONSULT = 1_500
OUTCOMES = 1_000
GENERATED = ("commands", "gates", "params", "selftest", "server")  # pages; and params-*
MAX_IMPORTED = 6_000  # lines behind a stage
# For each 1,000 lines: a line budget is met by taking away, and not by writing more into a line.
DENSITY = {"comprehensions": 25, "conditional expressions": 10, "tokens": 7_500}


@dataclass(frozen=True)
class Weight:
    """A part, what it weighs, and how much it may."""

    name: str
    value: int
    budget: int


def list_weights() -> Iterator[Weight]:
    """Weigh all parts of the repository."""
    yield from weigh_density()
    yield from weigh_files()
    yield Weight("keys of params.yaml", count_keys(_read_yaml(SHIPPED)), 90)
    yield from weigh_commands()
    for stage in ("evaluate", "register"):
        name = f"lines that {stage} can import"
        yield Weight(name, count_imported(f"plumbline.stages.{stage}"), MAX_IMPORTED)


def weigh_files() -> Iterator[Weight]:
    """Weigh the source, the tests, the benchmarks and the pages."""
    yield from weigh_rooms()
    yield Weight("tests, lines (helpers in it)", count_lines(ROOT / "tests"), 30_000)
    yield Weight("tests/support, lines", count_lines(ROOT / "tests/support"), 4_000)
    yield Weight("examples, lines", count_lines(ROOT / "examples"), 800)
    yield Weight("benchmarks, lines", count_lines(ROOT / "benchmarks"), 3_000)
    pages = [p for p in ROOT.glob("docs/**/*.md") if p.stem.partition("-")[0] not in GENERATED]
    yield Weight("docs, words", sum(map(count_words, pages)), 35_000)
    yield Weight("CHANGELOG.md, words", count_words(ROOT / "CHANGELOG.md"), 2_000)


def list_grown() -> list[str]:
    """Name what weighs more than its ceiling, and more than its budget."""
    ceilings = _read_ceilings()
    limits = {w: max(w.budget, ceilings.get(w.name, 0)) for w in weigh_files()}
    return [
        f"{weight.name}: {weight.value:,}, at most {limit:,}"
        for weight, limit in limits.items()
        if weight.value > limit
    ]


def lower_ceilings() -> None:
    """Write what each part weighs now as its ceiling, where that is less."""
    old = _read_ceilings()
    new = {w.name: min(w.value, old.get(w.name, w.value)) for w in weigh_files()}
    CEILINGS.write_text(json.dumps(new, indent=2) + "\n", encoding="utf-8")


def weigh_rooms() -> Iterator[Weight]:
    """Weigh the rooms of the engine, the tasks, and the packages beside the engine."""
    engine, tasks = SOURCES / "plumbline", (SOURCES / "plumbline/tasks", SOURCES / "tasks")
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
    yield Weight("plumbline_selftest", count_lines(SOURCES / "plumbline_selftest"), SELFTEST)
    yield Weight("plumbline_consult", count_lines(SOURCES / "plumbline_consult"), CONSULT)
    yield Weight("plumbline_outcomes", count_lines(SOURCES / "plumbline_outcomes"), OUTCOMES)
    whole = ENGINE + TEXT_CLASSIFICATION + OTHER_TASKS + SELFTEST + CONSULT + OUTCOMES
    yield Weight("src, lines", count_lines(SOURCES), whole)


def count_lines(folder: Path, pattern: str = "**/*.py") -> int:
    """Count the lines of the modules in a folder; 0 where it does not exist."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in folder.glob(pattern))


def count_words(path: Path) -> int:
    """Count what blanks divide."""
    return len(path.read_text(encoding="utf-8").split())


def count_keys(value: Any) -> int:
    """Count the keys that hold a value: those of a mapping in place of the mapping itself."""
    return sum(map(count_keys, value.values())) if isinstance(value, dict) and value else 1


def weigh_density() -> Iterator[Weight]:
    """Count what makes lines hard to read, for each 1,000 of them."""
    counts: Counter[str] = Counter()
    comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    for path in SOURCES.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            counts["comprehensions"] += isinstance(node, comprehension)
            counts["conditional expressions"] += isinstance(node, ast.IfExp)
        counts["tokens"] += len(list(tokenize.generate_tokens(io.StringIO(text).readline)))
    num_lines = count_lines(SOURCES)
    for name, limit in DENSITY.items():
        yield Weight(f"{name} per 1,000 lines", round(1000 * counts[name] / num_lines), limit)


def weigh_commands() -> Iterator[Weight]:
    """Count the commands, those of groups and hidden ones too, and the options of `serve`."""
    from typer.main import get_command

    from plumbline.cli import app

    root: Any = get_command(app)
    yield Weight("commands", count_commands(root), 24)
    options = [p for p in root.commands["serve"].params if p.param_type_name == "option"]
    yield Weight("options of serve", len(options), 13)


def count_commands(command: Any) -> int:
    """Count the commands of a group, or 1."""
    inner = getattr(command, "commands", None)
    return 1 if inner is None else sum(map(count_commands, inner.values()))


def count_imported(module: str) -> int:
    """Count the lines that the import of a module of plumbline can reach."""
    import grimp

    sys.path.insert(0, str(SOURCES))
    graph = grimp.build_graph("plumbline", cache_dir=None)
    reached = {module, *graph.find_upstream_modules(module)}
    paths = [SOURCES.joinpath(*name.split(".")) for name in reached]
    files = [path / "__init__.py" if path.is_dir() else path.with_suffix(".py") for path in paths]
    return sum(count_lines(file.parent, file.name) for file in files)


def _read_ceilings() -> dict[str, int]:
    return json.loads(CEILINGS.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def _read_yaml(path: Path) -> Any:
    from ruamel.yaml import YAML

    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))


def print_census() -> None:
    """Print all weights beside their budgets."""
    print(f"{'':48} {'now':>8} {'budget':>8} {'surplus':>8}")  # noqa: T201
    for weight in list_weights():
        surplus = max(0, weight.value - weight.budget) or ""
        print(f"{weight.name:48} {weight.value:>8,} {weight.budget:>8,} {surplus:>8}")  # noqa: T201


if __name__ == "__main__":
    if sys.argv[1:] == ["--lower"]:
        lower_ceilings()
    else:
        print_census()
