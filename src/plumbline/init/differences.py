"""How a file of plumbline's repository becomes one of a user's.

template/differences.yaml lists replaced texts, and two files have a rule. In dvc.yaml, stages
depend on the lock that names plumbline's wheel in place of plumbline's code; of the Makefile, only
what a user calls is kept.
"""

import re
from pathlib import Path

from plumbline.contract.yaml_file import load_yaml

TABLE = Path("template/differences.yaml")
READY = "$(READY)"
# What a user calls, and what that needs; the others develop plumbline.
TARGETS = (
    *("help", "setup", READY, "run", "fresh", "public-key", "calendar", "remote", "test", "ui"),
    *("keep-registry", "images", "clean"),
)
PHONY = re.compile(r"^\.PHONY:.*$", re.MULTILINE)
TARGET = re.compile(r"^([a-z$][\w()$-]*):(?!=)", re.MULTILINE)
# A page of the documentation, which a user's repository has not.
PAGE = re.compile(r"\bdocs/([a-z_-]+)\.md\b")
CODE = re.compile(r"^ +- src/plumbline/.*\n", re.MULTILINE)


def adapt(path: Path, text: str, root: Path, name: str) -> str:
    """Return the text that the file `path` has in a user's repository of that name.

    ValueError names a text of the table that is not in the file exactly once.
    """
    if path == Path("dvc.yaml"):
        text = CODE.sub("", text)
    if path == Path("Makefile"):
        text = _keep_targets(text)
    for old, new in load_yaml(root / TABLE).get(path.as_posix(), ()):
        if text.count(old) != 1:
            raise ValueError(f"{TABLE}: {path}: {text.count(old)} times in the file: {old!r}")
        text = text.replace(old, new.replace("{name}", name))
    return replace_pages(text)


def replace_pages(text: str) -> str:
    """Replace the paths of pages by the command that prints them."""
    return PAGE.sub(r"`plumbline docs \1`", text)


def _keep_targets(text: str) -> str:
    """Keep the blocks between blank lines that have variables only, or a target to be kept."""
    blocks = text.rstrip("\n").split("\n\n")
    kept = "\n\n".join(block for block in blocks if _is_kept(block)) + "\n"
    commands = [target for target in TARGETS if target != READY]
    return PHONY.sub(f".PHONY: {' '.join(commands)}", kept)


def _is_kept(block: str) -> bool:
    target = TARGET.search(block)
    return target is None or target[1] in TARGETS
