"""How a file of plumbline's repository becomes one of a user's.

template/differences.yaml lists replaced texts. In dvc.yaml, stages run plumbline's wheel and depend
on the lock that names it, in place of code of this repository.
"""

import re
from pathlib import Path

from plumbline.contract.yaml_file import load_yaml

TABLE = Path("template/differences.yaml")
# A page of the documentation, which a user's repository has not.
PAGE = re.compile(r"\bdocs/[a-z/-]+/([a-z_-]+)\.md\b")
CODE = re.compile(r"^ +- (src/plumbline|pipelines)/.*\n", re.MULTILINE)
STAGE = re.compile(r"pipelines/([a-z]+)\.py")


def adapt(path: Path, text: str, root: Path, name: str) -> str:
    """Return the text that the file `path` has in a user's repository of that name.

    ValueError names a text of the table that is not in the file exactly once.
    """
    if path == Path("dvc.yaml"):
        text = STAGE.sub(r"-m plumbline.entrypoint \1", CODE.sub("", text))
    for old, new in load_yaml(root / TABLE).get(path.as_posix(), ()):
        if text.count(old) != 1:
            raise ValueError(f"{TABLE}: {path}: {text.count(old)} times in the file: {old!r}")
        text = text.replace(old, new.replace("{name}", name))
    return replace_pages(text)


def replace_pages(text: str) -> str:
    """Replace the paths of pages by the command that prints them."""
    return PAGE.sub(r"`plumbline docs \1`", text)
