"""How the code is written: `make check` fails where a name, a class or a room breaks the rules."""

import ast
import re
import tomllib
from collections import defaultdict
from pathlib import Path

from tests.support.census import ROOT, SOURCES

TESTS = ROOT / "tests"
MODULES = {
    path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCES.rglob("*.py"))
}
Function = ast.FunctionDef | ast.AsyncFunctionDef
PREFIXES = ("is", "has", "num")  # the names that begin with no verb, by convention
CONVERTERS = ("as", "to", "from", "on", "with")  # as_text, to_json, on_epoch_end
VERBS = frozenset((TESTS / "verbs.txt").read_text(encoding="utf-8").split())
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
LOOSE = {"__init__.py", "entrypoint.py", "py.typed"}
MAX_ROWS = 11  # of imports: what a person keeps in the head
SAME_NAME = {"Predictor"}  # the protocol, and the class of each task's predictor.py
# Names that a library asks for, by which it finds them.
GIVEN = {
    "forward", "backward", "eval", "training_step", "validation_step", "train_dataloader",
    "val_dataloader", "redirect_request", "main",
}  # fmt: skip


def test_every_function_begins_with_a_verb() -> None:
    wrong = [
        f"{path.relative_to(SOURCES)}:{node.lineno}: {node.name}"
        for path, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, Function)
        and not is_named_by_a_library(node)
        and not is_verb_first(node.name)
    ]
    assert not wrong, "a function's name begins with a verb or is_, has_, num_:\n" + "\n".join(
        wrong
    )


def test_no_class_name_is_used_twice() -> None:
    places = defaultdict(list)
    for path, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.relative_to(SOURCES))
    repeated = {name: found for name, found in places.items() if len(found) > 1}
    assert set(repeated) <= SAME_NAME, repeated


def test_messages_and_comments_use_words_that_can_be_searched() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in [*MODULES, *list_documents()]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if IDIOMS.search(line)
    ]
    assert not wrong, "plain words (see IDIOMS):\n" + "\n".join(wrong)


def test_helpers_of_tests_are_in_one_folder() -> None:
    assert list_stray_helpers(TESTS) == []


def test_no_test_imports_from_a_test() -> None:
    imports = re.compile(r"^\s*(from|import) (tests(?!\.support)|test_|\.)", re.MULTILINE)
    assert [path for path in TESTS.rglob("*.py") if imports.search(path.read_text())] == []


def test_no_test_reads_the_params_of_the_user() -> None:
    """Whoever edits params.yaml as the README says still passes the product's tests."""
    reads = 'ROOT / "params.yaml"'
    allowed = {"test_style.py", "test_dag.py"}  # the graph is checked for the params in use
    readers = [
        path
        for path in TESTS.rglob("*.py")
        if path.name not in allowed and reads in path.read_text()
    ]
    assert readers == []


def test_only_a_few_files_are_loose_at_the_top() -> None:
    files = {path.name for path in (SOURCES / "plumbline").iterdir() if path.is_file()}
    assert files <= LOOSE


def test_the_order_of_imports_fits_in_a_head() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (layers,) = [contract for contract in contracts if contract["type"] == "layers"]
    assert len(layers["layers"]) <= MAX_ROWS
    assert not [contract["name"] for contract in contracts if contract.get("ignore_imports")]


def is_named_by_a_library(function: Function) -> bool:
    """Whether somebody else chose the name: a dunder, a property, a command of the command line."""
    decorators = " ".join(map(ast.unparse, function.decorator_list))
    is_dunder = function.name.startswith("__") and function.name.endswith("__")
    is_decorated = re.search(r"property|\.setter|\.command|\.callback|overload", decorators)
    return is_dunder or bool(is_decorated) or function.name.strip("_") in GIVEN


def is_verb_first(name: str) -> bool:
    """Whether a function's name begins with a verb, or with one of the few other words that may."""
    words = [word for word in name.lower().split("_") if word]
    if not words or words[0] in (*PREFIXES, *CONVERTERS):
        return len(words) > 1
    return words[0] in VERBS


def list_documents() -> list[Path]:
    """List what a user reads: the pages, the targets of make, and the comments of params files."""
    patterns = ("*.md", "docs/**/*.md", "data/raw/*.md", "template/**/*.md", "recipes/*.yaml")
    paths = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    return paths + [ROOT / name for name in ("Makefile", "develop.mk", "dvc.yaml")]


def list_stray_helpers(folder: Path) -> list[str]:
    """List the files outside of support/ that are no tests."""
    strays = []
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder)
        is_test = path.name.startswith("test_") or name == Path("conftest.py")
        if not is_test and name.parts[0] != "support":
            strays.append(name.as_posix())
    return strays
