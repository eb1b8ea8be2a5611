"""The folders of checkpoints by their names; closed forms, too, remove them, and need no torch."""

import re
import shutil

from plumbline.contract import layout
from plumbline.process import ranks


def remove_checkpoints(candidate: str, keep: str | None = None) -> None:
    """Delete the checkpoints of `candidate`, but for the folder named `keep`; by the first process.

    Without it also those of its trainings with other seeds (`<candidate>.seeds-<seed>`).
    """
    if not ranks.is_main():
        return
    seed = "" if keep else r"(\.seeds-[0-9]+)?"
    pattern = f"{re.escape(candidate)}{seed}-[0-9a-f]{{16}}"
    for path in layout.CHECKPOINTS.glob(f"{candidate}[-.]*"):
        if re.fullmatch(pattern, path.name) and path.name != keep:
            shutil.rmtree(path)
