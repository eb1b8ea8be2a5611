"""What is not as it was for the champion: parameters, data, code, and the examples that are answered otherwise."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.lineage import git
from plumbline.contract.task import SPLITS, Metric, Scores

if TYPE_CHECKING:
    import pandas as pd

CODE = ("pipelines", "src", "dvc.yaml", "requirements*.lock", "pyproject.toml")
NUM_CLASSES = 10
INPUT_CHARS = 300
OTHER = "id", "actual"  # columns of scores that are equal for both


def params(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every dotted key whose value differs, sorted: {"key", "old", "new"}; None where a key is missing."""
    was, now = dict(_flat(old)), dict(_flat(new))
    keys = sorted(was.keys() | now.keys())
    pairs = [(key, was.get(key), now.get(key)) for key in keys]
    return [
        {"key": key, "old": a, "new": b} for key, a, b in pairs if a != b or type(a) is not type(b)
    ]


def data(old: "pd.DataFrame", new: "pd.DataFrame") -> dict[str, Any]:
    """Two manifests compared: counts for every split, and the classes whose size changed most.

    An example is known again by id and digest, else by its digest alone (its row moved), else by its id alone: then its
    content changed. It counts in the split where it is now, for `removed` and `moved_out` in the one where it was.
    """
    pairs = _pairs(old, new)
    was, now = (
        old.iloc[pairs["old"]].reset_index(drop=True),
        new.iloc[pairs["new"]].reset_index(drop=True),
    )
    changed, relabelled = was["digest"] != now["digest"], was["label"] != now["label"]
    moved = was["split"] != now["split"]
    gone = old["split"][~np.isin(np.arange(len(old)), pairs["old"])]
    came = new["split"][~np.isin(np.arange(len(new)), pairs["new"])]
    splits = {
        split: {
            "before": int((old["split"] == split).sum()),
            "after": int((new["split"] == split).sum()),
            "added": int((came == split).sum()),
            "removed": int((gone == split).sum()),
            "changed": int((changed & (now["split"] == split)).sum()),
            "relabelled": int((relabelled & (now["split"] == split)).sum()),
            "moved_in": int((moved & (now["split"] == split)).sum()),
            "moved_out": int((moved & (was["split"] == split)).sum()),
        }
        for split in SPLITS
    }
    return {"same": _rows(old).equals(_rows(new)), "splits": splits, "classes": _classes(old, new)}


def code(old: str, new: str, *, old_dirty: bool = False, new_dirty: bool = False) -> dict[str, Any]:
    """What differs between two commits in files that can change a result, and how many commits lie between.

    Keys: from, to, from_dirty, to_dirty, commits, files. With `new_dirty` the working tree, new files included, stands
    for `new`. `added` and `removed` count lines and are None for a binary file. Where git cannot tell, `unknown` says
    why and stands instead of commits and files.
    """
    found: dict[str, Any] = {"from": old, "to": new, "from_dirty": old_dirty, "to_dirty": new_dirty}
    for commit in (old, new):
        if not commit:
            return found | {"unknown": "no commit is on record"}
        if (
            git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
            is None
        ):
            return found | {"unknown": f"commit {commit} is not in this clone"}
    ends = [old] if new_dirty else [old, new]
    listed = git("diff", "--numstat", "--no-renames", "-z", "--end-of-options", *ends, "--", *CODE)
    commits = git("rev-list", "--count", f"{old}..{new}")
    if listed is None or commits is None:
        return found | {"unknown": f"git cannot compare {old} with {new}"}
    files = [_numstat(line) for line in listed.split("\0") if line]
    return found | {"commits": int(commits), "files": files + (_untracked() if new_dirty else [])}


def flips(
    ids: Sequence[Any],
    inputs: Mapping[str, Sequence[Any]],
    ours: Scores,
    theirs: Scores,
    metric: Metric,
    limit: int = 20,
) -> dict[str, Any]:
    """The examples that were won and lost against another model: {"num_won", "num_lost", "won", "lost"}.

    For 0/1 scores those that only one got right, in the order of `ids`; for others the largest gains and losses. All
    rows are in the order of `ids`; ValueError where they are not equally many. At most `limit` each are listed.
    """
    one, other = ours.per_example[metric.name], theirs.per_example[metric.name]
    sizes = {len(ids), len(one), len(other), *(len(column) for column in inputs.values())}
    if len(sizes) != 1:
        raise ValueError(f"the rows to compare are not equally many: {sorted(sizes)}")
    gain = _hits(one) - _hits(other) if metric.kind == "binary" else one - other
    gain = gain if metric.higher_is_better else -gain
    order = (
        np.arange(len(gain))
        if metric.kind == "binary"
        else np.argsort(-np.abs(gain), kind="stable")
    )
    found: dict[str, Any] = {}
    for name, picked in (("won", order[gain[order] > 0]), ("lost", order[gain[order] < 0])):
        found[f"num_{name}"] = len(picked)
        found[name] = [_flip(int(row), ids, inputs, ours, theirs, metric) for row in picked[:limit]]
    return found


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _pairs(old: "pd.DataFrame", new: "pd.DataFrame") -> "pd.DataFrame":
    """Positions `old` and `new` of the rows that are one example, by the surest sign first; each row at most once."""
    import pandas as pd

    left = old[["id", "digest"]].assign(old=np.arange(len(old)))
    right = new[["id", "digest"]].assign(new=np.arange(len(new)))
    found = []
    for keys in (["id", "digest"], ["digest"], ["id"]):
        left = left.assign(nth=left.groupby(keys).cumcount())
        right = right.assign(nth=right.groupby(keys).cumcount())
        both = left.merge(right, on=[*keys, "nth"])[["old", "new"]]
        found.append(both)
        left, right = left[~left["old"].isin(both["old"])], right[~right["new"].isin(both["new"])]
    return pd.concat(found, ignore_index=True)


def _rows(manifest: "pd.DataFrame") -> "pd.DataFrame":
    """The manifest without any order of rows or columns."""
    return manifest.sort_values("id", kind="stable", ignore_index=True).sort_index(axis=1)


def _classes(old: "pd.DataFrame", new: "pd.DataFrame") -> list[dict[str, Any]]:
    was, now = (Counter(map(str, rows["label"])) for rows in (old, new))
    names = sorted(was.keys() | now.keys(), key=lambda name: (-abs(now[name] - was[name]), name))
    rows = [
        {"label": name, "before": was[name], "after": now[name]}
        for name in names
        if was[name] != now[name]
    ]
    return rows[:NUM_CLASSES]


def _numstat(line: str) -> dict[str, Any]:
    added, removed, path = line.split("\t", 2)
    return {
        "path": path,
        **{k: None if n == "-" else int(n) for k, n in (("added", added), ("removed", removed))},
    }


def _untracked() -> list[dict[str, Any]]:
    listed = git("ls-files", "--others", "--exclude-standard", "-z", "--", *CODE) or ""
    paths = [path for path in listed.split("\0") if path]
    return [
        {"path": path, "added": len(Path(path).read_bytes().splitlines()), "removed": 0}
        for path in paths
    ]


def _hits(values: np.ndarray) -> np.ndarray:
    return (values > 0).astype(int)


def _flip(
    row: int,
    ids: Sequence[Any],
    inputs: Mapping[str, Sequence[Any]],
    ours: Scores,
    theirs: Scores,
    metric: Metric,
) -> dict[str, Any]:
    one, other = ours.per_example, theirs.per_example
    found = {"id": str(ids[row]), "input": _input(inputs, row)}
    found |= {"actual": str(one["actual"][row])} if "actual" in one else {}
    for name in [
        name
        for name in one
        if name in other and name not in OTHER and isinstance(one[name][row], str)
    ]:
        found |= {f"ours_{name}": str(one[name][row]), f"theirs_{name}": str(other[name][row])}
    return found | {"ours": float(one[metric.name][row]), "theirs": float(other[metric.name][row])}


def _input(inputs: Mapping[str, Sequence[Any]], row: int) -> str:
    values = {name: str(column[row]) for name, column in inputs.items()}
    text = (
        next(iter(values.values()))
        if len(values) == 1
        else ", ".join(f"{k}: {v}" for k, v in values.items())
    )
    return text if len(text) <= INPUT_CHARS else text[: INPUT_CHARS - 1] + "…"
