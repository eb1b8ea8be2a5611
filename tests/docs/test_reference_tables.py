"""Tables of the documentation that list what the code has: nothing is missing, or there no more."""

import re
import subprocess
from pathlib import Path

from tests.support.checkouts import ROOT

from plumbline.tasks.text_classification.task import TASK

# What reads variables of the environment, or lists those of a repository on GitHub.
READERS = ("src", ".github", "docker", "deploy", "template", "Makefile", "develop.mk")
VARIABLE = re.compile(
    r"\b(PLUMBLINE_[A-Z_]*[A-Z]|MLFLOW_TRACKING_[A-Z_]*[A-Z]|DVC_REMOTE)\b"
    r'|environ(?:\.\w+\(|\[)\s*"([A-Z][A-Z_]+)"'
    r"|\b(?:vars|secrets)\.([A-Z_]+)"
)
# Variables that are in no table, since nobody sets them by hand, and who does.
SET_BY_OTHERS = {
    r"GITHUB_\w+": "GitHub Actions",
    r"(GITLAB|CI)_\w+": "GitLab CI/CD",
    r"RANK|LOCAL_RANK|WORLD_SIZE|LOCAL_WORLD_SIZE|TORCHELASTIC_\w+": "torchrun",
    r"DVC_EXP_NAME": "DVC",
    r"PATH": "the shell",
    r"READER_\w+|CANARY_\w+": "docker/compose.yaml and deploy/kubernetes, for docker/accounts.py",
    r"PLUMBLINE_(RUN|COMMIT)": "plumbline, for the processes that it starts",
    r"LOGNAME|PROMETHEUS_MULTIPROC_DIR|PYSPARK_PYTHON": "plumbline, for libraries",
    r"PLUMBLINE_(COLD_TESTS|TEST_\w+)": "who works on plumbline itself: CONTRIBUTING.md",
}


def test_the_columns_and_parameters_of_an_answer_are_those_of_the_signature() -> None:
    heading = "What an answer contains"
    columns = [row[0] for row in read_table("text_classification", heading)]
    assert columns == [f"`{field.name}`" for field in TASK.signature.outputs]
    params = [row[:2] for row in read_table("text_classification", heading, 1)]
    assert params == [[f"`{param.name}`", str(param.default)] for param in TASK.signature.params]


def test_every_variable_is_in_a_table() -> None:
    listed = set()
    for number in (0, 1):
        for row in read_table("environment", "Environment variables", number):
            assert all(row)
            listed |= set(re.findall(r"`(\w+)`", row[0]))
    others = re.compile("|".join(SET_BY_OTHERS))
    own = {name for name in list_variables() if not others.fullmatch(name)}
    assert own - listed == set(), "docs/reference/environment.md: say what these do"
    assert listed - own == set(), "docs/reference/environment.md: nothing reads these"


def read_table(page: str, heading: str, number: int = 0) -> list[list[str]]:
    """Return the rows of a table of a page of docs/: the first one below `heading`, or a later one.

    A cell is its text, with backquotes, without the blanks around it.
    """
    text = next((ROOT / "docs").rglob(f"{page}.md")).read_text(encoding="utf-8")
    below = re.split(rf"(?m)^#+ {re.escape(heading)}$", text)[1]
    section = re.split(r"(?m)^#+ ", below)[0]
    table = re.findall(r"(?m)(?:^\|.*\n)+", section)[number]
    rows = [re.split(r" (?<!\\)\| ", line.strip("| ")) for line in table.splitlines()[2:]]
    return [[cell.strip() for cell in row] for row in rows]


def list_variables() -> set[str]:
    """The variables that are read, or named, in the code, the workflows and the images."""
    listing = subprocess.check_output(["git", "ls-files", *READERS], cwd=ROOT, text=True)
    texts = [Path(ROOT, name).read_bytes().decode(errors="ignore") for name in listing.split()]
    return {"".join(match) for text in texts for match in VARIABLE.findall(text)}
