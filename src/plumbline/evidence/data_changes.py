"""What changed in the data since the champion was made: rows of each split, and classes."""

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.task import LABEL_SET, SPLITS

if TYPE_CHECKING:
    import pandas as pd

NUM_CLASSES = 10


def compare_manifests(old: "pd.DataFrame", new: "pd.DataFrame") -> dict[str, Any]:
    """Count what changed in every split, and list the classes whose size changed most.

    Two rows are one example if id and digest are equal, else if the digest is (its row moved), else
    if the id is: then its content changed. An example counts in the split where it is now, for
    `removed` and `moved_out` in the one where it was. `renamed` are those of the `relabelled` whose
    class has another name now, with all its examples and no others; `renames` maps the old names of
    such classes to the new ones. Sets of labels are no classes: most occur once, and any change of
    such a one would look like a new name. `altered` counts once each row of the old split that is
    removed, moved out, changed or relabelled, and not only renamed; and each that was moved in with
    another content or label.
    """
    pairs = _match_examples(old, new)
    before = old.iloc[pairs["old"]].reset_index(drop=True)
    after = new.iloc[pairs["new"]].reset_index(drop=True)
    changed = before["digest"] != after["digest"]
    relabelled = before["label"] != after["label"]
    renamed = relabelled & _is_renamed(before["label"], after["label"])
    if LABEL_SET in new:
        renamed[:] = False
    moved = before["split"] != after["split"]
    removed = old["split"][~np.isin(np.arange(len(old)), pairs["old"])]
    other = changed | (relabelled & ~renamed)
    added = new["split"][~np.isin(np.arange(len(new)), pairs["new"])]
    splits = {}
    for split in SPLITS:
        is_here = after["split"] == split
        was_here = before["split"] == split
        num_removed = int((removed == split).sum())
        splits[split] = {
            "before": int((old["split"] == split).sum()),
            "after": int((new["split"] == split).sum()),
            "added": int((added == split).sum()),
            "removed": num_removed,
            "changed": int((changed & is_here).sum()),
            "relabelled": int((relabelled & is_here).sum()),
            "renamed": int((renamed & is_here).sum()),
            "moved_in": int((moved & is_here).sum()),
            "moved_out": int((moved & was_here).sum()),
            "altered": num_removed + int((was_here & moved | is_here & other).sum()),
        }
    same = _sort_manifest(old).equals(_sort_manifest(new))
    names = dict(zip(before["label"][renamed], after["label"][renamed], strict=True))
    return {
        "same": same,
        "splits": splits,
        "renames": dict(sorted(names.items())),
        "classes": _compare_classes(old, new),
    }


def _match_examples(old: "pd.DataFrame", new: "pd.DataFrame") -> "pd.DataFrame":
    """Return positions `old` and `new` of rows that are one example; each row at most once."""
    import pandas as pd

    left = old[["id", "digest"]].assign(old=np.arange(len(old)))
    right = new[["id", "digest"]].assign(new=np.arange(len(new)))
    matches = []
    for keys in (["id", "digest"], ["digest"], ["id"]):  # the most certain first
        left = left.assign(nth=left.groupby(keys).cumcount())
        right = right.assign(nth=right.groupby(keys).cumcount())
        both = left.merge(right, on=[*keys, "nth"])[["old", "new"]]
        matches.append(both)
        left = left[~left["old"].isin(both["old"])]
        right = right[~right["new"].isin(both["new"])]
    return pd.concat(matches, ignore_index=True)


def _is_renamed(before: "pd.Series", after: "pd.Series") -> "pd.Series":
    """Whether each example's class was renamed: one old label has one new one, and vice versa."""
    num_new = after.groupby(before).transform("nunique")
    num_old = before.groupby(after).transform("nunique")
    renamed: pd.Series = (num_new == 1) & (num_old == 1)
    return renamed


def _sort_manifest(manifest: "pd.DataFrame") -> "pd.DataFrame":
    """Return the manifest in one order of rows and columns."""
    return manifest.sort_values("id", kind="stable", ignore_index=True).sort_index(axis=1)


def _compare_classes(old: "pd.DataFrame", new: "pd.DataFrame") -> list[dict[str, Any]]:
    """List the classes whose size changed most."""
    before = Counter(map(str, old["label"]))
    after = Counter(map(str, new["label"]))
    labels = [label for label in before.keys() | after.keys() if before[label] != after[label]]
    labels.sort(key=lambda label: (-abs(after[label] - before[label]), label))
    return [
        {"label": label, "before": before[label], "after": after[label]}
        for label in labels[:NUM_CLASSES]
    ]
