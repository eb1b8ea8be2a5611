"""What changed since the champion was made: params, code, and the answers to examples."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plumbline.contract.dotted_keys import flatten
from plumbline.contract.records import Scores
from plumbline.contract.task import Metric

INPUT_CHARS = 300
NUM_LISTED = 20  # examples of each kind
SAME_FOR_BOTH = ("id", "actual")  # columns of scores


def compare_params(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List every dotted key whose value differs, sorted: {"key", "old", "new"}.

    The value is None where a key is missing.
    """
    before = dict(flatten(old))
    after = dict(flatten(new))
    changed = []
    for key in sorted(before.keys() | after.keys()):
        one = before.get(key)
        other = after.get(key)
        if one != other or type(one) is not type(other):
            changed.append({"key": key, "old": one, "new": other})
    return changed


def compare_code(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, Any]:
    """Name the commits of two lineages, and whether the working tree had changes beside them."""
    return {
        "from": before.get("git_commit", ""),
        "to": now.get("git_commit", ""),
        "from_dirty": before.get("git_dirty") == "true",
        "to_dirty": now.get("git_dirty") == "true",
    }


def find_flips(
    ids: Sequence[Any],
    inputs: Mapping[str, Sequence[Any]],
    ours: Scores,
    theirs: Scores,
    metric: Metric,
) -> dict[str, Any]:
    """Find the examples won and lost against another model: {"num_won", "num_lost", "won", "lost"}.

    For 0/1 scores those that only one got right, in the order of `ids`; for others the largest
    gains and losses. All rows are in the order of `ids`; NUM_LISTED of each are listed.
    """
    gain = metric.sign * (ours.per_example[metric.name] - theirs.per_example[metric.name])
    order = np.arange(len(gain))
    if metric.kind != "binary":
        order = np.argsort(-np.abs(gain), kind="stable")
    found: dict[str, Any] = {}
    for kind, rows in (("won", order[gain[order] > 0]), ("lost", order[gain[order] < 0])):
        found[f"num_{kind}"] = len(rows)
        found[kind] = []
        for row in rows[:NUM_LISTED]:
            flip = {"id": str(ids[row]), "input": _describe_input(inputs, row)}
            found[kind].append(flip | _describe_scores(row, ours, theirs, metric.name))
    return found


def _describe_scores(row: int, ours: Scores, theirs: Scores, metric: str) -> dict[str, Any]:
    """Describe what both answered to an example, and their scores."""
    one, other = ours.per_example, theirs.per_example
    described: dict[str, Any] = {}
    if "actual" in one:
        described["actual"] = str(one["actual"][row])
    for name in one:
        if name not in other or name in SAME_FOR_BOTH:
            continue
        if name == "answered" or isinstance(one[name][row], str):
            described[f"ours_{name}"] = str(one[name][row])
            described[f"theirs_{name}"] = str(other[name][row])
    scores = {"ours": float(one[metric][row]), "theirs": float(other[metric][row])}
    return described | scores


def _describe_input(inputs: Mapping[str, Sequence[Any]], row: int) -> str:
    """Return the input as text, cut at INPUT_CHARS; several columns with their names."""
    values = {name: str(column[row]) for name, column in inputs.items()}
    text = ", ".join(f"{name}: {value}" for name, value in values.items())
    if len(values) == 1:
        (text,) = values.values()
    return text if len(text) <= INPUT_CHARS else text[: INPUT_CHARS - 1] + "…"
