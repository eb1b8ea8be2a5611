"""A registered version made again: its commit in a fresh clone, the same stages, and a comparison.

The clone has its own DVC cache, registry and journal, which are empty: every stage really runs, and
nothing is written where decisions are made. What is compared with the champion is left out.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

from plumbline.contract.errors import PlumblineError
from plumbline.diagnostics.reproduce.clone import prepare_clone
from plumbline.diagnostics.reproduce.comparison import Reproduction, compare_evidence
from plumbline.diagnostics.reproduce.execution import build_environment, run_pipeline
from plumbline.diagnostics.reproduce.subject import load_subject

__all__ = ["Reproduction", "reproduce"]


def reproduce(
    model: str,
    version: str | None,
    *,
    keep: Path | None,
    say: Callable[[str], None],
) -> Reproduction:
    """Run the pipeline of a registered version (None: the champion) again and compare.

    `say` gets lines that report progress; the clone is left in `keep` or removed. Raises
    PlumblineError where its commit is not in this clone, its evidence is not what was registered,
    or a stage fails.
    """
    with tempfile.TemporaryDirectory(prefix="plumbline-reproduce-") as private:
        folder = Path(private)
        subject = load_subject(model, version, folder)
        if subject.dirty:
            say(
                f"{subject} was made from a working tree with uncommitted changes, so commit "
                f"{subject.commit[:12]} may not be what made it"
            )
        clone = _resolve_kept_folder(keep) if keep else folder / "clone"
        say(f"{subject}: commit {subject.commit} in {clone}")
        prepare_clone(subject, clone, say)
        run_pipeline(clone, build_environment(clone, folder), say)
        return compare_evidence(subject, clone)


def _resolve_kept_folder(keep: Path) -> Path:
    if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise PlumblineError(
            f"--keep {keep}: it exists and is not an empty folder; name another folder"
        )
    return keep.resolve()
