"""What changed in the data since the champion was made: rows of each split, and classes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.rows import hash_columns
from plumbline.contract.task import CONTENT_DIGEST, LABEL_SET, SPLITS
from plumbline.evidence.sorted_rows import RowSorter, SortedRows, read_ranges

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

NUM_CLASSES = 10
KEYS = np.dtype(
    [
        ("id", np.uint64),  # this and the next four are hashes
        ("digest", np.uint64),
        ("whole", np.uint64),  # of all columns
        ("content", np.uint64),  # of CONTENT_DIGEST
        ("groups", np.uint64),  # of the columns that slices are made of
        ("number", np.int64),  # of the row in its manifest
        ("split", np.int32),  # numbers of names, as the next one
        ("label", np.int32),
    ]
)
KIND = ["old_split", "new_split", "old_label", "new_label", "is_changed", "is_regrouped"]


@dataclass(frozen=True)
class ManifestKeys:
    """What is compared of each row of a manifest: 56 bytes of it, in a file."""

    rows: SortedRows  # KEYS of each, by digest
    names: tuple[Any, ...]
    columns: frozenset[str]  # of the manifest
    groups: tuple[str, ...]  # of its columns, those that slices are made of
    sizes: Counter[tuple[Any, Any]]  # rows of each split and label

    def count_rows(self, split: str) -> int:
        """Return how many rows a split has."""
        return sum(size for (own, _), size in self.sizes.items() if own == split)

    def count_labels(self) -> Counter[str]:
        """Return how many rows have each label, as text."""
        counts: Counter[str] = Counter()
        for (_, label), size in self.sizes.items():
            counts[str(label)] += size
        return counts

    def find_numbers(self, names: Sequence[Any]) -> np.ndarray:
        """Return the number that each of `self.names` has in `names`, which hold all of them."""
        numbers = {name: number for number, name in enumerate(names)}
        return np.array([numbers[name] for name in self.names], dtype=np.int32)


def read_keys(batches: "Iterable[pa.RecordBatch]", slices: Sequence[str] = ()) -> ManifestKeys:
    """Read what is compared of a manifest, a batch at a time; `slices` are names of its columns."""
    numbers: dict[Any, int] = {}
    columns: frozenset[str] = frozenset()
    groups: tuple[str, ...] = ()
    sizes: Counter[tuple[Any, Any]] = Counter()
    num_rows = 0
    with RowSorter(KEYS, "digest") as sorter:
        for batch in batches:
            names = sorted(batch.schema.names)
            columns = frozenset(names)
            groups = tuple(sorted(columns.intersection(slices) - {"split", "label"}))
            rows = np.empty(batch.num_rows, KEYS)
            rows["id"] = hash_columns(batch, ["id"])
            rows["digest"] = hash_columns(batch, ["digest"])
            rows["whole"] = hash_columns(batch, names)
            rows["content"] = _hash_optional(batch, [CONTENT_DIGEST])
            rows["groups"] = _hash_optional(batch, groups)
            rows["number"] = np.arange(num_rows, num_rows + len(rows))
            kinds = {name: batch[name].to_pylist() for name in ("split", "label")}
            for name, values in kinds.items():
                rows[name] = [numbers.setdefault(value, len(numbers)) for value in values]
            sizes.update(zip(kinds["split"], kinds["label"], strict=True))
            num_rows += len(rows)
            sorter.append(rows)
        return ManifestKeys(sorter.finish(), tuple(numbers), columns, groups, sizes)


def _hash_optional(batch: "pa.RecordBatch", names: Sequence[str]) -> "np.ndarray | int":
    """Return a hash of columns of each row; 0 where `batch` does not have them."""
    if names and set(names) <= set(batch.schema.names):
        return hash_columns(batch, names)
    return 0


def compare_manifests(before: ManifestKeys, now: ManifestKeys) -> dict[str, Any]:
    """Count what changed in every split, and list the classes whose size changed most.

    Two rows are one example if id and digest are equal, else if the digest is (its row moved), else
    if the id is. A column that one manifest does not have is not compared. Keys of the answer:

        same        whether both have the same rows, in any order
        splits      the counts below, for each split
        renames     the old name of each renamed class: its new one
        classes     the NUM_CLASSES whose size changed most, with their size before and after

    Of a split; an example counts where it is now, as removed and moved_out where it was:

        before      rows in the old manifest
        after       rows in the new one
        added       rows that are no example of the old manifest
        removed     rows that are no example of the new one
        changed     examples of another digest, or CONTENT_DIGEST: texts that read the same need
                    not be the same to a model
        regrouped   examples in other groups by the columns of slices
        relabelled  examples with another label
        renamed     those of them whose class has another name now, with all its examples and no
                    others; never of sets of labels, most of which occur once
        moved_in    examples that were in another split
        moved_out   examples that are in another split now
        altered     rows of the old split that are removed, moved out, changed, regrouped or
                    relabelled (not only renamed), and rows that were moved in changed, regrouped
                    or relabelled; each counts once
    """
    return {
        "same": before.columns == now.columns and _has_equal_rows(before, now),
        **_count_changes(before, now),
        "classes": _compare_classes(before, now),
    }


def _has_equal_rows(before: ManifestKeys, now: ManifestKeys) -> bool:
    """Whether both have the same rows, in any order."""
    return all(
        np.array_equal(np.sort(old["whole"]), np.sort(new["whole"]))
        for old, new in read_ranges(before.rows, now.rows)
    )


def _count_changes(before: ManifestKeys, now: ManifestKeys) -> dict[str, Any]:
    """Return `splits` and `renames` of `compare_manifests`."""
    names = tuple(dict.fromkeys([*SPLITS, *before.names, *now.names]))
    kinds = _count_kinds(before, now, names)
    sizes = kinds["size"]
    changed = kinds["is_changed"] == 1
    regrouped = kinds["is_regrouped"] == 1
    relabelled = kinds["old_label"] != kinds["new_label"]
    renamed = relabelled & _is_renamed(kinds["old_label"], kinds["new_label"])
    if LABEL_SET in now.columns:
        renamed[:] = False
    moved = kinds["old_split"] != kinds["new_split"]
    other = changed | regrouped | (relabelled & ~renamed)
    splits = {}
    for split, name in enumerate(SPLITS):
        is_here = kinds["new_split"] == split
        was_here = kinds["old_split"] == split
        num_before, num_after = before.count_rows(name), now.count_rows(name)
        num_removed = num_before - int(sizes[was_here].sum())
        splits[name] = {
            "before": num_before,
            "after": num_after,
            "added": num_after - int(sizes[is_here].sum()),
            "removed": num_removed,
            "changed": int(sizes[changed & is_here].sum()),
            "regrouped": int(sizes[regrouped & is_here].sum()),
            "relabelled": int(sizes[relabelled & is_here].sum()),
            "renamed": int(sizes[renamed & is_here].sum()),
            "moved_in": int(sizes[moved & is_here].sum()),
            "moved_out": int(sizes[moved & was_here].sum()),
            "altered": num_removed + int(sizes[was_here & moved | is_here & other].sum()),
        }
    renames = set(zip(kinds["old_label"][renamed], kinds["new_label"][renamed], strict=True))
    return {
        "splits": splits,
        "renames": dict(sorted((names[one], names[other]) for one, other in renames)),
    }


def _count_kinds(before: ManifestKeys, now: ManifestKeys, names: Sequence[Any]) -> "pd.DataFrame":
    """Count the examples of both manifests that are alike in KIND, as `size`.

    Splits and labels are numbers of `names`.
    """
    import pandas as pd

    old_names, new_names = before.find_numbers(names), now.find_numbers(names)
    has_content = CONTENT_DIGEST in before.columns & now.columns
    has_groups = before.groups == now.groups
    kinds = pd.DataFrame(columns=[*KIND, "size"], dtype=np.int64)
    for old, new in _match_manifests(before.rows, now.rows):
        is_changed = old["digest"] != new["digest"]
        if has_content:
            is_changed |= old["content"] != new["content"]
        is_regrouped = (old["groups"] != new["groups"]) & has_groups
        examples = pd.DataFrame(
            {
                "old_split": old_names[old["split"]],
                "new_split": new_names[new["split"]],
                "old_label": old_names[old["label"]],
                "new_label": new_names[new["label"]],
                "is_changed": is_changed.astype(np.int64),
                "is_regrouped": is_regrouped.astype(np.int64),
                "size": 1,
            }
        )
        kinds = pd.concat([kinds, examples]).groupby(KIND, as_index=False).sum()
    return kinds


def _match_manifests(
    before: SortedRows, now: SortedRows
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows of both, as many of each: those in one place are one example.

    Rows with one digest are in one range, so all but the examples whose content changed are found
    a range at a time. What is left is sorted by id, and then so are they.
    """
    with RowSorter(KEYS, "id") as old_left, RowSorter(KEYS, "id") as new_left:
        for old, new in read_ranges(before, now):
            pairs = _match_examples(old, new, (["id", "digest"], ["digest"]))
            yield old[pairs["old"]], new[pairs["new"]]
            old_left.append(np.delete(old, pairs["old"]))
            new_left.append(np.delete(new, pairs["new"]))
        for old, new in read_ranges(old_left.finish(), new_left.finish()):
            pairs = _match_examples(old, new, (["id"],))
            yield old[pairs["old"]], new[pairs["new"]]


def _match_examples(
    old: np.ndarray, new: np.ndarray, choices: Sequence[list[str]]
) -> "pd.DataFrame":
    """Return positions `old` and `new` of rows that are one example; each row at most once.

    They have equal keys of the first of `choices`, else of the next one.
    """
    import pandas as pd

    left = pd.DataFrame({"id": old["id"], "digest": old["digest"], "old": np.arange(len(old))})
    right = pd.DataFrame({"id": new["id"], "digest": new["digest"], "new": np.arange(len(new))})
    matches = []
    for keys in choices:
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
