"""Write the pages of docs/reference that follow from the code: `make docs`."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from docs import params_pages, server_page
from typer.main import get_command
from typer.testing import CliRunner

from plumbline.cli import app
from plumbline.contract.errors import ParamsError, PlumblineError, RefusedError
from plumbline.contract.verdict import EXIT_CODES as VERDICTS
from plumbline.drift.decision import EXIT_CODES as DRIFT
from plumbline.evidence.gates import GATES, Gate
from plumbline.evidence.gates.remedies import describe_remedy, read_texts
from plumbline_outcomes.live_score import EXIT_CODES as OUTCOMES

FOLDER = Path(__file__).with_name("reference")
HEAD = """# Commands and their options

`plumbline COMMAND --help` prints the same. This page is generated: `make docs` writes it.
"""
EXIT_CODES = f"""
## Exit codes

* `0`: done; of `report --verdict`: promote; of `drift`: stable; of `drift --due`: due.
* `{PlumblineError.exit_code}`: something is wrong; the message says what, where, and what to do.
* `{ParamsError.exit_code}`: `params.yaml`, an option or an argument is wrong; nothing was started.
* `{VERDICTS["keep"]}`: of `report --verdict`: keep, the champion stays; of `drift --due`: not due.
* `{RefusedError.exit_code}`: the verdict is refuse, and nothing was registered.
* `{DRIFT["drift"]}`, `{DRIFT["watch"]}`, `{DRIFT["too few rows"]}`: of `drift`:
  drift, watch, too few rows.
* {", ".join(f"`{code}` {verdict}" for verdict, code in OUTCOMES.items() if code)}: of `outcomes`.

Where next: [what each gate asks](gates.md), [every key of params.yaml](params.md).
"""

GATES_HEAD = """# What each gate asks, and what to do

`plumbline report` names each gate that refuses, with the number that it measured, its limit, and
what to do. The limits are under `evaluation` in [params.yaml](params.md). This page is generated:
`make docs` writes it. There are three kinds of gates:

* **Must hold**: a fact, such as a digest or a count. Chance plays no part in it.
* **Must be shown**: a claim of the model. The lower end of an interval has to pass, so too few test
  rows refuse a sound model too.
* **Must not be disproved**: a doubt about the model. The gate refuses only where the data are
  significantly beyond the limit, at a level of 0.003 that all gates of this kind share. Too few
  rows pass.

A gate that cannot be computed fails. A gate that does not apply says why. Change a limit only where
your requirements have changed, in a commit of its own. The tables count refusals of simulated
models ([how](../figures/error-rates.md#sound-models-that-gates-refuse)).
"""
RATES = "| refused in %, {} | 200 rows | 1,000 rows | 10,000 rows |\n|---|---|---|---|"
NO_RATES = {
    "must hold": "It compares facts, so chance does not refuse a sound model.",
    "must be shown": "It refuses a sound model where the rows are too few to show the claim.",
    "must not be disproved": "No sample of rows decides, so chance does not refuse a sound model.",
}
GATES_END = """
Where next: [the verdict, and limits that are switched off](evidence.md),
[the statistics](../explanation/verdict.md).
"""
FAULTS_HEAD = """# The faults that selftest plants

    plumbline selftest

plants each fault below in a copy of a small pipeline with a champion, runs the command in the
column `before` and those after it, and compares what they say with what is expected
([why](../explanation/how-gates-are-tested.md)). An error has to contain the words between the dots.
`start` is a checkout that has only a `params.yaml`. `--only TEXT` plants what has the text in its
name or its gate.

These are the faults of `text_classification`. `--task NAME` tries the other gates: `sequence_bayes`
tries `bounds`, `slices` and `groups`, `signal_extraction` tries `behaviour`, `filter_design` tries
`answers`. `--list` prints these tables. `make docs` writes this page.

"""
FAULTS_END = """
The A/A test trains 24 models of one recipe, each on its own 80 % of the rows with its own seed, and
compares all 276 pairs. The gate [`champion`](gates.md#champion) may promote no more often than its
level says.
"""


def write_commands() -> str:
    """Return the page of all commands, each with its arguments and options."""
    sections = [HEAD]
    for name, command in list_commands(get_command(app), "plumbline"):
        context = typer.Context(command, info_name=name)
        records = [param.get_help_record(context) for param in command.params]
        options = [f"* `{left}`: {right}" for left, right in filter(None, records)]
        what = " ".join((command.help or "").split())
        texts = [f"## {name}", what, *quote_example(command.epilog or ""), "\n".join(options)]
        sections.append("\n\n".join(filter(None, texts)) + "\n")
    return "\n".join(sections) + EXIT_CODES


def list_commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the visible commands, those of groups too, in the order of `plumbline --help`."""
    for key, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            yield from list_commands(inner, f"{name} {key}")
    if not hasattr(command, "commands"):
        yield name, command


def quote_example(epilog: str) -> Iterator[str]:
    """Yield the example of a command as a block of code."""
    lines = [line for line in epilog.splitlines() if line and not line.startswith("Example")]
    if lines:
        yield "\n".join(f"    {line}" for line in lines)


def write_gates() -> str:
    """Return the page of all gates, each with what it asks, how often it is wrong, what to do."""
    rates = (FOLDER.parent / "figures/error-rates.md").read_text(encoding="utf-8")
    head = re.findall(r"(?m)^\| gate \| (.*?) \|", rates)[0]
    rows = re.findall(r"(?m)^\| (\w+) (\| .* / .* / .*)$", rates)
    return GATES_HEAD + "".join(write_gate(gate, head, rows) for gate in GATES) + GATES_END


def write_gate(gate: Gate, head: str, rates: list[tuple[str, str]]) -> str:
    """Return the section of one gate; `rates` are rows of a table of all."""
    rows = [row for name, row in rates if name == gate.name]
    wrong = "\n".join([RATES.format(head), *rows]) if rows else NO_RATES[gate.burden]
    remedy = f"What to do: {describe_remedy({}, gate.name)}."
    explained = f"{gate.burden.capitalize()}. {read_texts()[gate.name]['explanation']}"
    parts = [f"\n## {gate.name}", f"**{gate.question}** {explained}", wrong, remedy]
    return "\n\n".join(parts) + "\n"


def write_faults() -> str:
    """Return the page of what selftest plants."""
    printed = CliRunner().invoke(app, ["selftest", "--list"], catch_exceptions=False).stdout
    return FAULTS_HEAD + printed + FAULTS_END


def write_pages() -> dict[str, str]:
    """Return the generated pages by name."""
    pages = {
        "commands": write_commands(),
        "gates": write_gates(),
        "selftest": write_faults(),
        "server": server_page.write_page(),
    }
    return pages | params_pages.write_pages()


if __name__ == "__main__":
    for page, text in write_pages().items():
        FOLDER.joinpath(f"{page}.md").write_text(text, encoding="utf-8")
