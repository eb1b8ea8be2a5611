"""What benchmarks import of plumbline is there: no stage runs them, nothing else would notice."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCHMARKS = sorted((ROOT / "benchmarks").rglob("*.py"))


def list_imports(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each module of plumbline that a file imports from, with each name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("plumbline"):
            yield from ((str(node.module), alias.name) for alias in node.names)


def list_names(module: str) -> set[str]:
    """Return the names that a module has: its own, imported ones, and the modules in it."""
    path = ROOT / "src" / Path(*module.split("."))
    names = {entry.stem for entry in path.iterdir()} if path.is_dir() else set()
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


@pytest.mark.parametrize("path", BENCHMARKS, ids=[path.name for path in BENCHMARKS])
def test_what_a_benchmark_imports_is_there(path: Path) -> None:
    for module, name in list_imports(path):
        assert name in list_names(module), f"{module} has no {name}"
