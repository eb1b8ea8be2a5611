"""How the code is written: `make check` fails where a name, a class or a room breaks the rules."""

import ast
from collections import Counter
from pathlib import Path

from tests.support import census

SOURCES = census.ROOT / "src"
PACKAGE = SOURCES / "plumbline"
TESTS = census.ROOT / "tests"
MODULES = census.read_package(SOURCES)
LOOSE = {"__init__.py", "entrypoint.py", "py.typed"}
MAX_ROWS = 11  # of imports: what a person keeps in the head
SAME_NAME = {"Predictor"}  # the protocol, and the class of each task's predictor.py
# Names that a library asks for, by which it finds them.
GIVEN = {
    "forward",
    "backward",
    "eval",
    "training_step",
    "validation_step",
    "train_dataloader",
    "val_dataloader",
    "state_dict",
    "readable",
    "readinto",
    "seek",
    "seekable",
    "redirect_request",
    "connection_made",
    "connection_lost",
    "data_received",
    "timeout_keep_alive_handler",
    "shutdown",
    "main",
}


def test_every_function_begins_with_a_verb() -> None:
    wrong = [
        f"{module.path.relative_to(SOURCES)}:{function.lineno}: {function.name}"
        for module in MODULES
        for function in module.functions()
        if not census.is_named_by_a_rule_of_its_own(function)
        and function.name.strip("_") not in GIVEN
        and not census.is_verb_first(function.name)
    ]
    assert not wrong, "a function's name begins with a verb or is_, has_, num_:\n" + "\n".join(
        wrong
    )


def test_no_class_name_is_used_twice() -> None:
    repeated = census.list_repeated_classes(MODULES)
    assert set(repeated) <= SAME_NAME, {name: repeated[name] for name in set(repeated) - SAME_NAME}


def test_messages_and_comments_use_words_that_can_be_searched() -> None:
    wrong = census.list_idioms([*MODULES, *read_documents()])
    assert not wrong, "plain words (see IDIOMS in census.py):\n" + "\n".join(wrong)


def test_helpers_of_tests_are_in_one_folder() -> None:
    assert list_stray_helpers(TESTS) == []


def test_no_two_test_files_have_one_name() -> None:
    """Pytest imports a test file by its base name, as the folders of tests are no packages."""
    assert list_repeated_names(TESTS) == []


def test_no_test_module_is_imported() -> None:
    assert list_imported_tests(TESTS) == []


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
    assert set(census.list_loose_files(PACKAGE)) <= LOOSE


def test_the_order_of_imports_fits_in_a_head() -> None:
    import tomllib

    project = tomllib.loads((census.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (layers,) = [contract for contract in contracts if contract["type"] == "layers"]
    assert len(layers["layers"]) <= MAX_ROWS
    assert not [contract["name"] for contract in contracts if contract.get("ignore_imports")]


def read_documents() -> list[census.Module]:
    """Read what a user reads: the pages, the targets of make, and the comments of params files."""
    patterns = ("*.md", "docs/**/*.md", "data/raw/*.md", "template/**/*.md", "recipes/*.yaml")
    paths = [path for pattern in patterns for path in sorted(census.ROOT.glob(pattern))]
    paths += [census.ROOT / name for name in ("Makefile", "develop.mk", "dvc.yaml")]
    return [census.Module(path, path.read_text(encoding="utf-8")) for path in paths]


def list_stray_helpers(folder: Path) -> list[str]:
    """List the files outside of support/ that are no tests."""
    strays = []
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder)
        is_test = path.name.startswith("test_") or name == Path("conftest.py")
        if not is_test and name.parts[0] != "support":
            strays.append(name.as_posix())
    return strays


def list_repeated_names(folder: Path) -> list[str]:
    """List the base names that more than one test file has."""
    counts = Counter(path.name for path in folder.rglob("test_*.py"))
    return sorted(name for name, count in counts.items() if count > 1)


def list_imported_tests(folder: Path) -> list[str]:
    """List the imports of what is among the tests and not in support/."""
    wrong = []
    for module in census.read_package(folder):
        for node in ast.walk(module.tree):
            if any(is_test_module(name) for name in list_imports(node)):
                wrong.append(f"{module.path.relative_to(folder)}:{node.lineno}")  # type: ignore[attr-defined]
    return wrong


def list_imports(node: ast.AST) -> list[str]:
    """List the modules that a statement imports; a relative import begins with a dot."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        base = "." * node.level + (node.module or "")
        return [f"{base}.{alias.name}" for alias in node.names]
    return []


def is_test_module(name: str) -> bool:
    parts = name.split(".")
    if parts[0] == "tests":
        return parts[1] != "support"
    return parts[0] == "" or parts[0].startswith("test_")
