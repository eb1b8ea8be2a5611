"""What changed since the champion was made: params, code, and the answers to examples."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plumbline.contract.dotted_keys import flatten
from plumbline.contract.records import Scores
from plumbline.contract.task import Metric
from plumbline.process.lineage import ask_git

CODE = ("pipelines", "src", "dvc.yaml", "requirements*.lock", "pyproject.toml")
INPUT_CHARS = 300
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
    """Compare the commits of two lineages in the files that can change a result.

    Keys: from, to, from_dirty, to_dirty, commits, files. Where `now` is dirty, the working tree,
    new files included, takes the place of its commit. Where git cannot compare, `unknown` says why,
    in place of commits and files.
    """
    old, new = before.get("git_commit", ""), now.get("git_commit", "")
    is_dirty = now.get("git_dirty") == "true"
    compared: dict[str, Any] = {
        "from": old,
        "to": new,
        "from_dirty": before.get("git_dirty") == "true",
        "to_dirty": is_dirty,
    }
    for commit in (old, new):
        problem = _find_problem(commit)
        if problem:
            return compared | {"unknown": problem}
    ends = [old] if is_dirty else [old, new]
    options = ("--name-only", "--no-renames", "-z", "--end-of-options")
    listed = ask_git("diff", *options, *ends, "--", *CODE)
    commits = ask_git("rev-list", "--count", f"{old}..{new}")
    if listed is None or commits is None:
        return compared | {"unknown": f"git cannot compare {old} with {new}"}
    if is_dirty:
        listed += ask_git("ls-files", "--others", "--exclude-standard", "-z", "--", *CODE) or ""
    shown = os.fsencode(listed).decode("utf-8", "backslashreplace")  # names may hold any bytes
    files = [path for path in shown.split("\0") if path]
    return compared | {"commits": int(commits), "files": files}


def find_flips(
    ids: Sequence[Any],
    inputs: Mapping[str, Sequence[Any]],
    ours: Scores,
    theirs: Scores,
    metric: Metric,
    limit: int = 20,
) -> dict[str, Any]:
    """Find the examples won and lost against another model: {"num_won", "num_lost", "won", "lost"}.

    For 0/1 scores those that only one got right, in the order of `ids`; for others the largest
    gains and losses. All rows are in the order of `ids`; at most `limit` of each are listed.
    """
    gain = metric.sign * (ours.per_example[metric.name] - theirs.per_example[metric.name])
    order = np.arange(len(gain))
    if metric.kind != "binary":
        order = np.argsort(-np.abs(gain), kind="stable")
    found: dict[str, Any] = {}
    for kind, rows in (("won", order[gain[order] > 0]), ("lost", order[gain[order] < 0])):
        found[f"num_{kind}"] = len(rows)
        found[kind] = []
        for row in rows[:limit]:
            flip = {"id": str(ids[row]), "input": _describe_input(inputs, row)}
            found[kind].append(flip | _describe_scores(row, ours, theirs, metric.name))
    return found


def _find_problem(commit: str) -> str | None:
    """Say why `commit` cannot be compared, or None."""
    if not commit:
        return "no commit is on record"
    options = ("--verify", "--quiet", "--end-of-options")
    if ask_git("rev-parse", *options, f"{commit}^{{commit}}") is None:
        return f"commit {commit} is not in this clone"
    return None


def _describe_scores(row: int, ours: Scores, theirs: Scores, metric: str) -> dict[str, Any]:
    """Describe what both answered to an example, and their scores."""
    one, other = ours.per_example, theirs.per_example
    described: dict[str, Any] = {}
    if "actual" in one:
        described["actual"] = str(one["actual"][row])
    for name in one:
        if name not in other or name in SAME_FOR_BOTH:
            continue
        if isinstance(one[name][row], str):
            described[f"ours_{name}"] = str(one[name][row])
            described[f"theirs_{name}"] = str(other[name][row])
    has_both = "answered" in one and "answered" in other
    if has_both and not (one["answered"].all() and other["answered"].all()):
        described["ours_answered"] = bool(one["answered"][row])
        described["theirs_answered"] = bool(other["answered"][row])
    scores = {"ours": float(one[metric][row]), "theirs": float(other[metric][row])}
    return described | scores


def _describe_input(inputs: Mapping[str, Sequence[Any]], row: int) -> str:
    """Return the input as text, cut at INPUT_CHARS; several columns with their names."""
    values = {name: str(column[row]) for name, column in inputs.items()}
    text = ", ".join(f"{name}: {value}" for name, value in values.items())
    if len(values) == 1:
        (text,) = values.values()
    return text if len(text) <= INPUT_CHARS else text[: INPUT_CHARS - 1] + "…"
