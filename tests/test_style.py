"""How the code is written: `make check` fails where a name, a class or a room breaks the rules."""

from pathlib import Path

import pytest
from tests.support import census

PACKAGE = census.ROOT / "src/plumbline"
MODULES = census.read_package(PACKAGE)
LOOSE = {"__init__.py", "entrypoint.py", "py.typed"}
MAX_ROWS = 10  # of imports: what a person keeps in the head
SAME_NAME = {"Predictor"}  # the protocol, and the class of each task's predictor.py
# Names that a library asks for, by which it finds them.
GIVEN = {
    "forward",
    "backward",
    "training_step",
    "validation_step",
    "train_dataloader",
    "val_dataloader",
    "state_dict",
    "main",
}


def test_every_function_begins_with_a_verb() -> None:
    wrong = [
        f"{module.path.relative_to(PACKAGE)}:{function.lineno}: {function.name}"
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


def test_only_a_few_files_are_loose_at_the_top() -> None:
    assert set(census.list_loose_files(PACKAGE)) <= LOOSE


def test_the_order_of_imports_fits_in_a_head() -> None:
    import tomllib

    project = tomllib.loads((census.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (layers,) = [contract for contract in contracts if contract["type"] == "layers"]
    assert len(layers["layers"]) <= MAX_ROWS
    assert not layers.get("ignore_imports")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("told", False),
        ("_settled", False),
        ("rehearsed", False),
        ("versions", False),
        ("is", False),
        ("is_open", True),
        ("num_rows", True),
        ("read_rows", True),
        ("_check_seal", True),
        ("as_text", True),
    ],
)
def test_a_name_without_a_verb_is_seen(name: str, expected: bool) -> None:
    assert census.is_verb_first(name) is expected


def test_a_class_name_used_twice_is_seen(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / f"{name}.py").write_text("class Rows:\n    pass\n", encoding="utf-8")
    assert list(census.list_repeated_classes(census.read_package(tmp_path))) == ["Rows"]
