"""Count how the code is written, and what each part weighs beside its budget.

    python -m tests.support.census [--check | --lower] [ROOT]

prints one line for each count, so that two versions of the code can be compared. --check exits with
1 where a part grew beyond its ceiling, as tests/test_census.py does; --lower writes what was taken
away into ceilings.json. `make check` holds some counts to a limit (tests/test_style.py).
"""

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.support.budgets import Weight, list_grown, list_weights, lower_ceilings

ROOT = Path(__file__).parents[2]
LIMIT = 100  # characters a line
LONG = 40  # lines a function
# For each 1,000 lines: a line budget is met by taking away, and not by writing more into a line.
DENSITY = {"comprehensions": 25, "conditional expressions": 10, "tokens": 7_500}
Function = ast.FunctionDef | ast.AsyncFunctionDef
PREFIXES = ("is", "has", "num")  # the names that begin with no verb, by convention
CONVERTERS = ("as", "to", "from", "on", "with")  # as_text, to_json, on_epoch_end
# Words that a reader cannot search for; in brackets what to write.
IDIOMS = re.compile(
    r"(?<!there )\bis no (?!longer|more|better|such|need)"  # X is no Y (not a Y, not a valid Y)
    r"|\bsurely\b"  # (significantly)
    r"|\banew\b"  # (again)
    r"|\b(is|are|was|were) told\b"  # (is reported, is printed)
    r"|\b(is|are) away\b"  # (is unreachable)
    r"|\bby other hands\b"  # (changed outside plumbline)
    r"|\botherwise than\b"  # (different from)
    r"|\bmend(s|ed|ing)?\b"  # (repair, fix)
    r"|\bstands?\b",  # (is, is written)
    re.IGNORECASE,
)
VERBS = frozenset((Path(__file__).with_name("verbs.txt")).read_text(encoding="utf-8").split())


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax."""
        return ast.parse(self.text)

    @cached_property
    def lines(self) -> list[str]:
        """Its lines, as they are written."""
        return self.text.splitlines()

    def functions(self) -> Iterator[Function]:
        """Every function and method, nested ones too."""
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))


def read_package(folder: Path) -> list[Module]:
    """Read all modules below `folder`."""
    paths = sorted(folder.rglob("*.py"))
    return [Module(path, path.read_text(encoding="utf-8")) for path in paths]


def name_words(name: str) -> list[str]:
    """Split a function's name into its words, without leading underscores."""
    return [word for word in name.strip("_").lower().split("_") if word]


def is_named_by_a_rule_of_its_own(function: Function) -> bool:
    """Whether somebody else chose the name: a dunder, a property, a command of the command line."""
    if function.name.startswith("__") and function.name.endswith("__"):
        return True
    decorators = " ".join(map(ast.unparse, function.decorator_list))
    return bool(re.search(r"property|\.setter|\.command|\.callback|overload", decorators))


def is_verb_first(name: str) -> bool:
    """Whether a function's name begins with a verb, or with one of the few other words that may."""
    words = name_words(name)
    if not words or words[0] in (*PREFIXES, *CONVERTERS):
        return len(words) > 1
    return words[0] in VERBS


def list_repeated_classes(modules: list[Module]) -> dict[str, list[Path]]:
    """Map each class name that more than one module defines to those modules."""
    places: dict[str, list[Path]] = defaultdict(list)
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module.path)
    return {name: paths for name, paths in sorted(places.items()) if len(paths) > 1}


def list_idioms(modules: list[Module]) -> list[str]:
    """List the lines that say something in words that a reader cannot search for."""
    return [
        f"{module.path}:{number}: {line.strip()}"
        for module in modules
        for number, line in enumerate(module.lines, 1)
        if IDIOMS.search(line)
    ]


def list_loose_files(folder: Path) -> list[str]:
    """List the files at the top of the package."""
    return sorted(path.name for path in folder.iterdir() if path.is_file())


def weigh_density(modules: list[Module]) -> Iterator[Weight]:
    """Count what makes lines hard to read, for each 1,000 of them."""
    counts: Counter[str] = Counter()
    comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    for module in modules:
        for node in ast.walk(module.tree):
            counts["comprehensions"] += isinstance(node, comprehension)
            counts["conditional expressions"] += isinstance(node, ast.IfExp)
        counts["tokens"] += len(list(tokenize.generate_tokens(io.StringIO(module.text).readline)))
    num_lines = sum(len(module.lines) for module in modules)
    for name, limit in DENSITY.items():
        yield Weight(f"{name} per 1,000 lines", round(1000 * counts[name] / num_lines), limit)


def list_counts(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield counts of the package in `folder`, with their names."""
    modules = read_package(folder)
    functions = [function for module in modules for function in module.functions()]
    named = [function for function in functions if not is_named_by_a_rule_of_its_own(function)]
    sizes = [function.end_lineno - function.lineno + 1 for function in functions]  # type: ignore[operator]
    yield "functions", len(functions)
    yield f"functions over {LONG} lines", sum(size > LONG for size in sizes)
    yield "functions that begin with no verb", sum(not is_verb_first(f.name) for f in named)
    yield "class names defined more than once", len(list_repeated_classes(modules))
    yield "lines with an inverted idiom", len(list_idioms(modules))


def print_census(root: Path) -> None:
    """Print all counts of the checkout `root`, and budgets."""
    for title, value in list_counts(root / "src/plumbline"):
        print(f"{title:48} {value:>8,}")  # noqa: T201
    print(f"\n{'':48} {'now':>8} {'budget':>8} {'surplus':>8}")  # noqa: T201
    for weight in [*weigh_density(read_package(root / "src")), *list_weights(root)]:
        budget = "" if weight.budget is None else f"{weight.budget:,}"
        surplus = f"{weight.surplus:,}" if weight.surplus else ""
        print(f"{weight.name:48} {weight.value:>8,} {budget:>8} {surplus:>8}")  # noqa: T201


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail where a part has grown")
    parser.add_argument("--lower", action="store_true", help="lower the ceilings to what is left")
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="another checkout")
    asked = parser.parse_args()
    if asked.lower:
        lower_ceilings(asked.root)
    elif not asked.check:
        print_census(asked.root)
    elif grown := list_grown(asked.root):
        sys.exit("\n".join(grown))
