"""GitHub's own parser reads the workflows, and its evaluator agrees with the tests' runner."""

import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.support.checkouts import ROOT
from tests.support.workflows.expressions import holds, shown, value
from tests.support.workflows.github_parser import GitHubParser, World, install_parser

WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))
ACTIONS = sorted(ROOT.glob(".github/actions/*/action.yml"))
# As the evaluator numbers them.
KINDS = {str: 0, list: 1, dict: 2, bool: 3, float: 4, int: 4, type(None): 6}
CONTEXTS = ("github", "inputs", "vars", "secrets", "runner", "needs", "steps", "matrix", "env")
STATUS = ("success", "failure", "cancelled", "always")
TEXTS = ("", "yes", "Yes", "success", "skipped", "drift", "promote", "refs/heads/main", "12", "0")
NUM_GENERATED = 500
PLANTS = {
    "an operator that does not exist": ("ci.yml", "== 'pull_request'", "= 'pull_request'"),
    "a context that is not there": ("promote.yml", "inputs.action == 'promote'", "input.action"),
    "a job that is needed and missing": ("promote.yml", "needs: decide", "needs: decided"),
    "a string in the wrong quotes": ("drift.yml", "vars.PLUMBLINE_REQUESTS != ''", 'vars.A != ""'),
    "a function that does not exist": ("drift.yml", "!cancelled()", "!canceled()"),
    "an event that does not exist": ("report.yml", "pull_request:", "pull_requests:"),
    "a schedule that never comes": ("drift.yml", '"23 4 * * *"', '"23 25 * * *"'),
    "two steps of one name": ("promote.yml", "id: packed", "id: registry"),
}


@pytest.fixture(scope="module")
def parser() -> GitHubParser:
    return install_parser()


def test_the_workflows_have_no_fault(parser: GitHubParser) -> None:
    assert parser.check(*WORKFLOWS, *ACTIONS)[0] == []


@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_fault_is_seen(parser: GitHubParser, plant: str, tmp_path: Path) -> None:
    name, old, new = PLANTS[plant]
    path = Path(shutil.copy2(ROOT / ".github/workflows" / name, tmp_path))
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    faults, _ = parser.check(path)
    assert faults
    assert name in faults[0]


def test_expressions_in_use_mean_the_same(parser: GitHubParser) -> None:
    texts = "\n".join(path.read_text() for path in [*WORKFLOWS, *ACTIONS])
    expressions = sorted(set(re.findall(r"\$\{\{(.*?)\}\}", texts)) | set(find_bare(texts)))
    assert len(expressions) > 60
    worlds = make_worlds(expressions)
    ours = [evaluate(expressions, *world) for world in worlds]
    assert ours == parser.evaluate(expressions, worlds)


def test_conditions_let_the_same_jobs_and_steps_run(parser: GitHubParser) -> None:
    _, completed = parser.check(*WORKFLOWS)
    pairs = {
        pair
        for path in WORKFLOWS
        for pair in zip(list_conditions(path), completed[str(path)], strict=True)
    }
    bare = [condition for condition, _ in sorted(pairs, key=str)]
    whole = [expression for _, expression in sorted(pairs, key=str)]
    worlds = make_worlds(whole)
    theirs = parser.evaluate(as_truth(whole), worlds)
    for (known, status), answers in zip(worlds, theirs, strict=True):
        functions = make_functions(status)
        ours = [holds(condition, known, functions) for condition in bare]
        assert ours == [text == "true" for _, text in answers]


def test_what_starts_no_training_cancels_none_that_waits(parser: GitHubParser) -> None:
    """Of the runs of one group only the newest waits: those that do nothing have their own."""
    workflow = YAML(typ="safe").load((ROOT / ".github/workflows/retrain.yml").read_text())
    refs = ["refs/heads/main", "refs/heads/mine"]
    worlds: list[World] = [
        ({"github": {"ref": ref, "run_id": "12"}, "vars": {}}, {}) for ref in refs
    ]
    expression = str(workflow["concurrency"]["group"]).removeprefix("${{").removesuffix("}}")
    groups = [answers[0][1] for answers in parser.evaluate([expression], worlds)]
    assert groups == ["retrain", "12"]
    condition = workflow["jobs"]["train"]["if"]
    functions = make_functions({"success": True})
    assert [holds(condition, known, functions) for known, _ in worlds] == [True, False]


def test_generated_expressions_mean_the_same(parser: GitHubParser) -> None:
    known = {
        "github": {
            "ref": "refs/heads/main",
            "event": {"number": 7, "draft": False},
            "list": [1, "a"],
        },
        "needs": {"look": {"result": "success", "outputs": {"drift": "drift", "none": ""}}},
        "vars": {"EMPTY": "", "NUMBER": "12", "NULL": None, "PLUMBLINE_REQUESTS": "s3://bucket"},
    }
    status = {"success": True, "failure": False, "cancelled": False, "always": True}
    generator = random.Random(13)
    expressions = [generate(generator, 3) for _ in range(NUM_GENERATED)]
    ours = evaluate(expressions, known, status)
    (theirs,) = parser.evaluate(expressions, [(known, status)])
    differ = [row for row in zip(expressions, ours, theirs, strict=True) if row[1] != row[2]]
    assert differ == []
    assert len({tuple(found) for found in ours}) > 20
    assert {kind for kind, _ in ours} == set(KINDS.values())


@pytest.mark.parametrize(
    "expression", ["'a' ==", "(true", "'a", "true true", "f('a')", "&& true", '"a"', "github..ref"]
)
def test_what_github_cannot_read_stops_the_runner(parser: GitHubParser, expression: str) -> None:
    [[(kind, _)]] = parser.evaluate([expression], [({"github": {}}, {})])
    assert kind == "error"
    with pytest.raises((AssertionError, KeyError)):
        value(expression, {"github": {}}, {})


def evaluate(
    expressions: list[str], known: dict[str, Any], status: dict[str, bool]
) -> list[tuple[int, str | None]]:
    """What the runner makes of the expressions, in the words of GitHub's evaluator."""
    values = [value(expression, known, make_functions(status)) for expression in expressions]
    return [
        (KINDS[type(found)], None if isinstance(found, (list, dict)) else shown(found))
        for found in values
    ]


def make_functions(status: dict[str, bool]) -> dict[str, Any]:
    return {name: (lambda answer=answer: answer) for name, answer in status.items()}


def as_truth(expressions: list[str]) -> list[str]:
    return [f"!!({expression})" for expression in expressions]


def find_bare(text: str) -> list[str]:
    """Conditions that stand without braces."""
    return re.findall(r"^ *if: ((?!\$).*?)(?: #.*)?$", text, flags=re.MULTILINE)


def list_conditions(path: Path) -> list[str | None]:
    """The `if:` of each job, followed by those of its steps."""
    jobs = YAML(typ="safe").load(path.read_text())["jobs"].values()
    return [part.get("if") for job in jobs for part in (job, *job.get("steps", []))]


def make_worlds(expressions: list[str]) -> list[World]:
    """Make values for every name that the expressions use, and for the status functions."""
    paths = sorted(set(re.findall(r"\b[a-z]+(?:\.[\w-]+)+", " ".join(expressions))))
    words = {word[1:-1] for text in expressions for word in re.findall(r"'\w*'", text)}
    texts = sorted({*TEXTS, *words})
    generator = random.Random(12)
    worlds = []
    for result in ("success", "failure", "cancelled") * 8:
        known: dict[str, Any] = {name: {} for name in CONTEXTS}
        for path in paths:
            if generator.random() < 0.8:
                _put(known, path.split("."), generator.choice(texts))
        status = {name: name in {result, "always"} for name in STATUS}
        worlds.append((known, status))
    return worlds


def _put(known: dict[str, Any], names: list[str], text: str) -> None:
    for name in names[:-1]:
        known = known.setdefault(name, {})
    if isinstance(known, dict):
        known[names[-1]] = text


def generate(generator: random.Random, depth: int) -> str:
    """An expression of the given depth at most."""
    if depth == 0 or generator.random() < 0.15:
        return generator.choice(LEAVES)
    first, second = generate(generator, depth - 1), generate(generator, depth - 1)
    operator = generator.choice(["&&", "||", "==", "!=", "<", "<=", ">", ">="])
    function = generator.choice(["contains", "startsWith", "endsWith", "join"])
    forms = [
        f"{first} {operator} {second}",
        f"{first} {operator} {second}",
        f"({first}) {operator} ({second})",
        f"!{first}",
        f"!({first})",
        f"{function}({first}, {second})",
        f"format('{{0}} and {{1}}', {first}, {second})",
        f"github[{first}]",
        f'fromJSON(\'[1, "a", null, true, {{"ref": 2}}]\')[{first}]',
    ]
    return generator.choice(forms)


LEAVES = [
    *(
        "true",
        "false",
        "null",
        "0",
        "1",
        "-2.5",
        "0x1F",
        "12",
        "''",
        "'12'",
        "'A'",
        "'a'",
        "'it''s'",
    ),
    *("' 7 '", "'1e2'", "'1_0'", "'nan'", "'drift'", "'DRIFT'", "'refs/'", "'event'", "'List'"),
    *("success()", "failure()", "always()", "cancelled()", "!cancelled()"),
    *("github", "github.ref", "github.REF", "github.event.number", "github.event.draft"),
    *("github.list", "github.list[0]", "github.list[5]", "github['ref']", "github.none.none"),
    *("needs.look.result", "needs.look.outputs.drift", "needs.look.outputs.none", "needs.other"),
    *("vars.EMPTY", "vars.NUMBER", "vars.NULL", "vars.PLUMBLINE_REQUESTS", "vars['empty']"),
    *('fromJSON(\'["promote", "keep"]\')', "fromJSON('{\"a\": [1, 2]}').a", "fromJSON('3')"),
]
