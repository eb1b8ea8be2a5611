"""A data set of the Hugging Face hub, or a folder of the same form, streamed; the splits it brings are kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from plumbline.contract.errors import DataError
from plumbline.tasks.text_classification.data.rows import Part, Reading, Row, as_text, positions

SPLIT_NAMES = {
    "train": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
}


def parts(source: str) -> list[Part]:
    """One part for each split of `hf://ORG/NAME[:CONFIG][@REVISION]` that plumbline knows by name."""
    name, config, revision = _address(source)
    splits = _stream(name, config, revision)
    known = {split: SPLIT_NAMES[split] for split in splits if split in SPLIT_NAMES}
    if "train" not in known:
        raise DataError(
            f"{source}: no split called train; found {', '.join(map(str, splits)) or 'none'}"
        )
    order = sorted(known, key=lambda split: ("train", "validation", "test").index(known[split]))
    left_out = [str(split) for split in splits if split not in known]
    facts = {"name": source, "revision": revision, "left_out_splits": left_out}
    return [
        Part(split, known[split], partial(_rows, splits[split], f"{source} {split}"), facts)
        for split in order
    ]


def _address(source: str) -> tuple[str, str | None, str | None]:
    name, _, revision = source.removeprefix("hf://").partition("@")
    name, _, config = name.partition(":")
    return name, config or None, revision or None


def _stream(name: str, config: str | None, revision: str | None) -> Any:
    from datasets import load_dataset

    local = name.startswith((".", "/"))
    if local and not Path(name).is_dir():
        raise DataError(f"hf://{name}: no such folder; check data.source")
    with _translated(f"hf://{name}"):
        return load_dataset(name, config, revision=None if local else revision, streaming=True)


def _rows(split: Any, name: str, reading: Reading) -> Iterator[Row]:
    if "@" not in name and not name.startswith(("hf://.", "hf:///")):
        reading.notices.append(
            f"{name}: no revision is named, so a later run may read other rows; add @REVISION"
        )
    classes: dict[str, list[str]] = {}
    with _translated(name):
        for number, record in enumerate(split, 1):
            if number == 1:
                positions(name, list(record), reading)
                classes = _classes(split, reading)
            place = f"{name}: row {number}"
            yield Row(
                number,
                [
                    _value(record.get(column), classes.get(column), place)
                    for column in reading.wanted
                ],
            )


@contextmanager
def _translated(name: str) -> Iterator[None]:
    from datasets.exceptions import DatasetsError

    try:
        yield
    except (DatasetsError, OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:300]
        remedy = "check the name (hf://ORG/NAME:CONFIG@REVISION), the files behind it, the connection and HF_TOKEN"
        raise DataError(f"{name}: cannot be read ({reason}); {remedy}") from None


def _classes(split: Any, reading: Reading) -> dict[str, list[str]]:
    """The names behind numbered classes, for the columns that have them."""
    features = split.features or {}
    return {c: features[c].names for c in reading.wanted if getattr(features.get(c), "names", None)}


def _value(value: Any, names: list[str] | None, place: str) -> str | None:
    if names is None or not isinstance(value, int):
        return as_text(value, place)
    return (
        names[value] if 0 <= value < len(names) else None
    )  # the hub marks a missing label with -1
