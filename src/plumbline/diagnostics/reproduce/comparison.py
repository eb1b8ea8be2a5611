"""The registered evidence compared with that of the clone."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline import bundle
from plumbline.contract import layout
from plumbline.contract.errors import BundleError, RegistryError
from plumbline.diagnostics.reproduce.subject import ReproductionSubject
from plumbline.evidence.document import locate_shipped
from plumbline.process.files import read_json
from plumbline.registry.reader import open_version

SPLITS = ("validation", "test")


@dataclass(frozen=True)
class ComparisonRow:
    """One thing that was compared; `needed`: the version is reproduced only if it is the same."""

    what: str
    registered: str
    reproduced: str
    same: bool
    needed: bool
    note: str = ""


@dataclass(frozen=True)
class Reproduction:
    """What was compared, and what that means in a sentence."""

    rows: list[ComparisonRow]
    summary: str

    @property
    def same(self) -> bool:
        """Whether data, bundle and the winner's metrics are those of the registered version."""
        return all(row.same for row in self.rows if row.needed)


def compare_evidence(subject: ReproductionSubject, clone: Path) -> Reproduction:
    """Compare the registered evidence with that in `clone`."""
    old = subject.evidence
    new = read_json(clone / layout.EVIDENCE)
    rows = []
    for name in ("manifest", "examples", "params"):
        rows.append(_compare_digests(name, old, new, needed=name == "manifest"))
    is_same = old["winner"] == new["winner"]
    rows.append(ComparisonRow("winner", old["winner"], new["winner"], is_same, needed=False))
    rows.append(_compare_bundles(subject, new, clone))
    metric = old["metric"]["name"]
    for name, scores in old["candidates"].items():
        needed = name == old["winner"]
        rows.append(
            _compare_metrics(name, metric, scores, new["candidates"].get(name), needed=needed)
        )
    return Reproduction(rows, summarize(subject, rows))


def summarize(subject: ReproductionSubject, rows: list[ComparisonRow]) -> str:
    """What the rows mean, in a sentence; it says which files differ if the metrics are equal."""
    needed = {row.what: row for row in rows if row.needed}
    differ = [name for name, row in needed.items() if not row.same]
    if not differ:
        return f"{subject} is reproduced: the same data, the same weights, the same metrics"
    if differ != ["bundle"]:
        verb = "differs" if len(differ) == 1 else "differ"
        return f"{subject} is not reproduced: {', '.join(differ)} {verb}"
    return (
        f"{subject} is not reproduced to the bit: the metrics are the same, files of the bundle "
        f"are not ({needed['bundle'].note}). Another machine, number of threads or version of a "
        "library can change the last bits of weights"
    )


def _compare_digests(
    name: str, old: Mapping[str, Any], new: Mapping[str, Any], *, needed: bool
) -> ComparisonRow:
    before = old["digests"].get(name)
    after = new["digests"].get(name)
    return ComparisonRow(name, _shorten(before), _shorten(after), before == after, needed)


def _compare_bundles(
    subject: ReproductionSubject, new: Mapping[str, Any], clone: Path
) -> ComparisonRow:
    """The winner's bundle; the note names the files that differ."""
    before = subject.evidence["digests"]["bundle"]
    after = new["digests"]["bundle"]
    note = ""
    if before != after:
        note = _list_differing_files(subject, clone / locate_shipped(new, new["winner"]))
    same = before == after
    return ComparisonRow("bundle", _shorten(before), _shorten(after), same, needed=True, note=note)


def _list_differing_files(subject: ReproductionSubject, reproduced: Path) -> str:
    registered = subject.registered
    try:
        with open_version(f"models:/{registered.name}/{registered.number}") as opened:
            old = bundle.verify(opened.folder)["files"]
        new = bundle.verify(reproduced)["files"]
    except (BundleError, RegistryError) as error:
        return f"its files cannot be compared ({error})"
    return ", ".join(name for name in sorted({*old, *new}) if old.get(name) != new.get(name))


def _compare_metrics(
    name: str, metric: str, old: Mapping[str, Any], new: Mapping[str, Any] | None, *, needed: bool
) -> ComparisonRow:
    """Every metric of one candidate on both splits, exactly; the note names those that differ."""
    registered = f"{metric} {old['test'][metric]:.6f}"
    if new is None:
        return ComparisonRow(name, registered, "not among the candidates", False, needed)
    differ = []
    for split in SPLITS:
        before, after = old.get(split, {}), new.get(split, {})
        names = sorted({*before, *after})
        differ += [f"{split} {key}" for key in names if before.get(key) != after.get(key)]
    reproduced = f"{metric} {new['test'].get(metric, math.nan):.6f}"
    return ComparisonRow(name, registered, reproduced, not differ, needed, ", ".join(differ))


def _shorten(digest: str | None) -> str:
    return digest[:12] if digest else "none"
