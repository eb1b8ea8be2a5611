"""What changed in the data since the champion was made: rows of each split, and classes."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.rows import hash_columns
from plumbline.contract.task import LABEL_SET, SPLITS

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

NUM_CLASSES = 10
DTYPES = {
    "id": np.uint64,
    "digest": np.uint64,
    "whole": np.uint64,
    "split": np.int32,
    "label": np.int32,
}


@dataclass(frozen=True)
class ManifestKeys:
    """What is compared of each row of a manifest, in 32 bytes.

    `rows` has the columns id, digest and whole, which are hashes of 64 bits, split and label, which
    are numbers of `names`.
    """

    rows: "pd.DataFrame"
    names: tuple[Any, ...]
    columns: frozenset[str]  # of the manifest

    def count_labels(self) -> Counter[str]:
        """Return how many rows have each label, as text."""
        sizes = np.bincount(self.rows["label"], minlength=len(self.names))
        counts: Counter[str] = Counter()
        for name, size in zip(self.names, sizes.tolist(), strict=True):
            if size:
                counts[str(name)] += size
        return counts

    def rename(self, names: tuple[Any, ...]) -> "pd.DataFrame":
        """Return `rows` with the numbers of other names, which hold all of these."""
        numbers = {name: number for number, name in enumerate(names)}
        known = np.array([numbers[name] for name in self.names], dtype=np.int32)
        return self.rows.assign(**{name: known[self.rows[name]] for name in ("split", "label")})


def read_keys(batches: "Iterable[pa.RecordBatch]") -> ManifestKeys:
    """Read what is compared of a manifest, a batch at a time."""
    import pandas as pd

    numbers: dict[Any, int] = {}
    columns: frozenset[str] = frozenset()
    parts = [pd.DataFrame({name: np.zeros(0, dtype) for name, dtype in DTYPES.items()})]
    for batch in batches:
        names = sorted(batch.schema.names)
        columns = frozenset(names)
        keys = {
            "id": hash_columns(batch, ["id"]),
            "digest": hash_columns(batch, ["digest"]),
            "whole": hash_columns(batch, names),
        }
        for name in ("split", "label"):
            values = batch[name].to_pylist()
            codes = [numbers.setdefault(value, len(numbers)) for value in values]
            keys[name] = np.array(codes, dtype=DTYPES[name])
        parts.append(pd.DataFrame(keys))
    return ManifestKeys(pd.concat(parts, ignore_index=True), tuple(numbers), columns)


def compare_manifests(before: ManifestKeys, now: ManifestKeys) -> dict[str, Any]:
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
    names = tuple(dict.fromkeys([*SPLITS, *before.names, *now.names]))
    old, new = before.rename(names), now.rename(names)
    return {
        "same": before.columns == now.columns and _has_equal_rows(old, new),
        **_count_changes(old, new, names, LABEL_SET in now.columns),
        "classes": _compare_classes(before, now),
    }


def _has_equal_rows(old: "pd.DataFrame", new: "pd.DataFrame") -> bool:
    """Whether both have the same rows, in any order."""
    return np.array_equal(np.sort(old["whole"].to_numpy()), np.sort(new["whole"].to_numpy()))


def _count_changes(
    old: "pd.DataFrame", new: "pd.DataFrame", names: tuple[Any, ...], has_sets: bool
) -> dict[str, Any]:
    """Return `splits` and `renames` of `compare_manifests`."""
    pairs = _match_examples(old, new)
    before = old.iloc[pairs["old"]].reset_index(drop=True)
    after = new.iloc[pairs["new"]].reset_index(drop=True)
    changed = before["digest"] != after["digest"]
    relabelled = before["label"] != after["label"]
    renamed = relabelled & _is_renamed(before["label"], after["label"])
    if has_sets:
        renamed[:] = False
    moved = before["split"] != after["split"]
    removed = old["split"][~np.isin(np.arange(len(old)), pairs["old"])]
    other = changed | (relabelled & ~renamed)
    added = new["split"][~np.isin(np.arange(len(new)), pairs["new"])]
    splits = {}
    for split, name in enumerate(SPLITS):
        is_here = after["split"] == split
        was_here = before["split"] == split
        num_removed = int((removed == split).sum())
        splits[name] = {
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
    renames = set(zip(before["label"][renamed], after["label"][renamed], strict=True))
    return {
        "splits": splits,
        "renames": dict(sorted((names[one], names[other]) for one, other in renames)),
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


def _compare_classes(old: ManifestKeys, new: ManifestKeys) -> list[dict[str, Any]]:
    """List the classes whose size changed most."""
    before, after = old.count_labels(), new.count_labels()
    labels = [label for label in before.keys() | after.keys() if before[label] != after[label]]
    labels.sort(key=lambda label: (-abs(after[label] - before[label]), label))
    return [
        {"label": label, "before": before[label], "after": after[label]}
        for label in labels[:NUM_CLASSES]
    ]
