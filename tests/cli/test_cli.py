"""The command line: its help, the commands that messages and documents name, and its checks."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from tests.support.checkouts import ROOT, Checkout
from typer.main import get_command
from typer.testing import CliRunner

from plumbline.cli import app
from plumbline.contract.yaml_file import load_yaml

# Libraries that take longer to import than the whole help takes to print.
HEAVY = ("mlflow", "numpy", "pandas", "pyarrow", "pydantic", "ruamel.yaml", "sqlalchemy", "torch")
PLACEHOLDER = "X"  # in place of what an f-string fills in
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "Makefile",
    ROOT / "develop.mk",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / ".github").rglob("*.yml")),
    *sorted((ROOT / "src").rglob("*.html")),
    *sorted((ROOT / "src").rglob("*.md")),
]


def walk_commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from walk_commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


DEFAULTS = {"outcomes": "outcomes judge"}  # of a group, what arguments without a command are for
COMMANDS = dict(walk_commands(get_command(app)))


def print_help(command: str) -> str:
    # One line for each option, however long.
    result = CliRunner().invoke(app, [*command.split(), "--help"], env={"COLUMNS": "500"})
    assert result.exit_code == 0, result.output
    return result.output


def list_flags(command: Any) -> set[str]:
    return {flag for param in command.params for flag in (*param.opts, *param.secondary_opts)}


def find_fault(words: str) -> str | None:
    """What is wrong with the command and the flags in a text that follows `plumbline`."""
    words = re.split(r" [#|&;>]|[<,;)]|…| \.\.\.", words)[0]
    match = re.match(r"(registry )?[a-z-]+", words)
    if match is None:
        return None
    name = " ".join(words.split()[:2])
    if name not in COMMANDS:
        name = DEFAULTS.get(match[0], match[0])
    if name == "registry":
        return None
    if name not in COMMANDS:
        return f"no command `plumbline {name}`"
    unknown = set(re.findall(r"(?<=\s)--?[a-z][a-z-]*", words)) - list_flags(COMMANDS[name])
    return f"`plumbline {name}` has no {', '.join(sorted(unknown))}" if unknown else None


def read_literals(path: Path) -> Iterator[str]:
    """The string literals of a module; PLACEHOLDER in place of the values in f-strings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            parts = [getattr(part, "value", PLACEHOLDER) for part in node.values]
            yield "".join(part if isinstance(part, str) else PLACEHOLDER for part in parts)


def test_the_version_is_printed() -> None:
    done = CliRunner().invoke(app, ["--version"])
    assert (done.exit_code, done.output) == (0, f"plumbline {version('plumbline')}\n")


def test_help_names_every_command(checkout: Checkout) -> None:
    printed = checkout.run("plumbline", "--help").stdout
    for name in {name.split()[0] for name in COMMANDS}:
        assert re.search(rf"^│ {name} ", printed, re.MULTILINE), name
    assert "─ Commands ─" not in printed, "no panel: see PANELS in terminal/commands.py"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_what_a_command_does_its_defaults_and_an_example(name: str) -> None:
    printed = print_help(name)
    command = COMMANDS[name]
    lines = [line.strip() for line in printed.splitlines()]
    typed = next((group for group, default in DEFAULTS.items() if default == name), name)
    examples = [line for line in lines if re.match(rf"plumbline {typed}( |$)", line)]
    assert examples, f"no example in the help of {name}"
    for example in examples:
        assert find_fault(example.removeprefix("plumbline ")) is None
        assert len(example) <= 76, "an example is one line of a terminal"
    assert command.help
    for param in command.params:
        assert param.help, f"{name}: {param.name} has no help"
        if param.param_type_name == "option" and not param.is_flag:
            (line,) = re.findall(rf"^│[ *]+{param.opts[0]} .*", printed, re.MULTILINE)
            assert "[default: " in line or "[required]" in line, line


def test_messages_name_commands_and_flags_that_exist() -> None:
    faults = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for literal in read_literals(path):
            for words in re.findall(r"`plumbline ([^`]+)`", literal):
                fault = find_fault(words)
                if fault:
                    faults.append(f"{path.relative_to(ROOT)}: {fault}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_name_commands_and_flags_that_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    # Where a command must follow, and wherever the name of a command follows.
    starts = (
        r"(?:`|^ *\$ (?:time )?|^(?:    |\t)@?|run: \.venv/bin/|<code>)plumbline ([a-z][^`\n]*)"
    )
    names = "|".join(sorted({name.split()[0] for name in COMMANDS}))
    anywhere = rf"\bplumbline ((?:{names})\b[^`\n]*)"
    faults = []
    for words in re.findall(starts, text, re.MULTILINE) + re.findall(anywhere, text):
        fault = find_fault(words)
        if fault:
            faults.append(fault)
    assert not faults, "\n".join(faults)


def test_a_word_is_completed(checkout: Checkout) -> None:
    words = {"COMP_WORDS": "plumbline pro", "COMP_CWORD": "1"}
    done = checkout.run("plumbline", _PLUMBLINE_COMPLETE="complete_bash", **words)
    assert done.stdout == "promote\n"


def test_a_quiet_command_and_all_that_it_starts_print_errors_only(checkout: Checkout) -> None:
    assert checkout.run("plumbline", "-q", "recipe").stdout == ""
    assert "no recipe" in checkout.run("plumbline", "-q", "recipe", "b7", code=2).stderr


def test_a_misspelt_variable_is_an_error(checkout: Checkout) -> None:
    refused = checkout.run("plumbline", "recipe", code=2, PLUMBLINE_CACHEDIR="x")
    assert "did you mean PLUMBLINE_CACHE?" in refused.stderr


def test_recipes(checkout: Checkout) -> None:
    assert "banking77" in checkout.run("plumbline", "recipe").stdout
    refused = checkout.run("plumbline", "recipe", "banking7", code=2).stderr
    assert "did you mean banking77?" in refused
    recipe = checkout.run("plumbline", "recipe", "banking77").stdout
    checkout.run("plumbline", "recipe", "banking77", "--use")
    assert (checkout.path / "params.yaml").read_text() == recipe
    checkout.replace("params.yaml", "seed: 7", "seed: 8")
    refused = checkout.run("plumbline", "recipe", "banking77", "--use", code=1).stderr
    assert "not committed" in refused
    assert "seed: 8" in (checkout.path / "params.yaml").read_text()
    checkout.run("git", "checkout", "-q", "params.yaml")


def test_a_recipe_for_generated_data_keeps_data_of_ones_own(checkout: Checkout) -> None:
    checkout.replace("params.yaml", "source: generated ", "source: data/raw/own.csv ")
    checkout.replace("params.yaml", "text: text", "text: body")
    checkout.replace("params.yaml", "simple_candidate: linear", "simple_candidate: minilm")
    said = checkout.run("plumbline", "recipe", "quick", "--use", "--force").stdout
    assert "is now the recipe quick, with your data, validation, evaluation, registry" in said
    assert "`git checkout params.yaml` brings back the one that is committed" in said
    params = load_yaml(checkout.path / "params.yaml")
    assert params["data"]["source"] == "data/raw/own.csv"
    assert params["data"]["columns"]["text"] == "body"
    assert list(params["candidates"]) == ["linear"]
    assert params["evaluation"]["simple_candidate"] == "linear"  # the own one is no candidate now
    checkout.run("plumbline", "recipe", "quick", "--use")  # `make run RECIPE=quick` once more
    checkout.replace("params.yaml", "min_rows: 200", "min_row: 200")
    refused = checkout.run("plumbline", "recipe", "quick", "--use", "--force", code=2).stderr
    assert "plumbline: recipe quick, with your data, validation, eval" in refused
    assert ".aside" not in refused
    checkout.replace("params.yaml", "min_row: 200", "min_rows: 200")
    said = checkout.run("plumbline", "recipe", "banking77", "--use", "--force").stdout
    assert "with your" not in said
    checkout.run("git", "checkout", "-q", "params.yaml")


def test_the_shipped_params_are_a_copy_of_their_recipe() -> None:
    recipe = "recipes/text_classification.yaml"

    def ask(*arguments: str) -> str:
        return subprocess.check_output(["git", *arguments], cwd=ROOT, text=True).strip()

    # What came after this commit is the user's, and so may be the first commit of a repository.
    commit, _, parents = ask("log", "-1", "--format=%H %P", "--", recipe).partition(" ")
    if not parents:
        pytest.skip("which commit changed the recipe is not known here: it is the first one")
    same = ask("show", f"{commit}:params.yaml") == ask("show", f"{commit}:{recipe}")
    assert same, "run `plumbline recipe text_classification --use`, and commit both files together"


def test_predict_before_anything_was_registered(checkout: Checkout) -> None:
    done = checkout.run("plumbline", "predict", "hello", code=1)
    assert "models:/ticket-router@champion" in done.stderr
    assert "`make run` makes one" in done.stderr
    assert "Traceback" not in done.stderr


def test_report_before_anything_was_evaluated(checkout: Checkout) -> None:
    done = checkout.run("plumbline", "report", code=1)
    assert "dvc repro" in done.stderr


def test_help_imports_no_heavy_library() -> None:
    code = f"import sys, plumbline.cli; print([n for n in {HEAVY!r} if n in sys.modules])"
    said = subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT)
    assert said.strip() == "[]"
