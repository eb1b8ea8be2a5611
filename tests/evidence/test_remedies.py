"""What to do where a gate refuses: every command, and every key of params, is there."""

import json
import re
from pathlib import Path

import pytest
import typer
from ruamel.yaml import YAML
from tests.support.checkouts import RECIPE, ROOT

from plumbline.cli import app
from plumbline.contract.loading import load_params
from plumbline.contract.yaml_file import load_yaml
from plumbline.evidence.gates.remedies import describe_remedy, read_texts
from plumbline.tasks.text_classification import params as text_params

QUOTED = sorted(
    {
        (gate, quoted)
        for gate in read_texts()
        for quoted in re.findall("`([^`]+)`", describe_remedy({"winner": "linear"}, gate))
    }
)
COMMANDS = [(gate, quoted) for gate, quoted in QUOTED if quoted.startswith("plumbline ")]
KEYS = [(gate, quoted) for gate, quoted in QUOTED if re.match(r"(data|evaluation)\.", quoted)]
OTHERS = [pair for pair in QUOTED if pair not in [*COMMANDS, *KEYS]]


@pytest.mark.parametrize(("gate", "command"), COMMANDS)
def test_a_command_of_a_remedy_is_one(gate: str, command: str) -> None:
    _, name, *arguments = command.split()
    commands = typer.main.get_command(app).commands
    commands[name].make_context(name, arguments)


@pytest.mark.parametrize("gate", sorted({gate for gate, _ in KEYS}))
def test_the_keys_of_a_remedy_are_those_of_params_and_take_its_values(
    gate: str, tmp_path: Path
) -> None:
    params, pages = load_yaml(RECIPE), (ROOT / "docs/reference").glob("params*.md")
    described = "\n".join(page.read_text("utf-8") for page in pages)
    params["evaluation"]["selective"] = {"risk": 0.02, "min_coverage": 0.5}
    asked = {"columns": ["product"], "rate": "error", "max_gap": 0.05, "min_rows": 50}
    params["evaluation"]["groups"] = asked
    for line in [line for name, line in KEYS if name == gate]:
        path, _, value = line.partition(": ")
        *above, key = path.split(".")
        section = params
        for name in above:
            section = section[name]
        assert re.search(rf"`{re.escape(path)}[`.]", described)
        if value:
            section[key] = YAML(typ="safe").load(value)
        elif key == "column":
            section[key] = "channel"
    changed = tmp_path / "params.yaml"
    changed.write_text(json.dumps(params), encoding="utf-8")
    load_params(changed)


@pytest.mark.parametrize(("gate", "word"), OTHERS)
def test_any_other_name_in_a_remedy_is_a_target_of_make_or_of_a_candidate(
    gate: str, word: str
) -> None:
    if word.startswith("make "):
        assert f"\n{word.split()[1]}: " in (ROOT / "Makefile").read_text(encoding="utf-8")
        return
    configs = [kind for kind in vars(text_params).values() if hasattr(kind, "model_fields")]
    fields = {name for kind in configs for name in kind.model_fields}
    key = word.partition(":")[0]
    assert key in {*fields, "int8", "fp32", "data.split"} or key in load_yaml(RECIPE)
