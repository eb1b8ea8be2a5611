"""A data set of the Hugging Face hub, or a folder of the same form, streamed with its splits."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from plumbline.contract.errors import DataError
from plumbline.contract.task import SPLITS
from plumbline.contract.yaml_file import format_value
from plumbline.sources.source_part import SourcePart
from plumbline.tables.class_names import list_class_names, name_class
from plumbline.tables.columns import find_columns
from plumbline.tables.records import ReadRequest, SourceRow

SPLIT_NAMES = {"train": "train", "test": "test"} | dict.fromkeys(
    ("validation", "valid", "val", "dev"), "validation"
)
COMMIT = re.compile(r"[0-9a-f]{40}")
LOOKUP_SECONDS = 10


def list_hub_parts(address: str) -> list[SourcePart]:
    """Return a part for each split of `hf://ORG/NAME[:CONFIG][@REVISION]` with a known name.

    Raises DataError where the data set cannot be read or has no train split.
    """
    name, config, revision = _parse_address(address)
    splits = _open_splits(name, config, revision)
    known = [split for split in splits if split in SPLIT_NAMES]
    if "train" not in known:
        names = ", ".join(map(str, splits)) or "none"
        raise DataError(f"{address}: no split called train; found {names}")
    known.sort(key=lambda split: SPLITS.index(SPLIT_NAMES[split]))
    left_out = [str(split) for split in splits if split not in SPLIT_NAMES]
    facts = {"name": address, "revision": revision, "left_out_splits": left_out}
    parts = []
    for split in known:
        read_rows = partial(_read_rows, splits[split], f"{address} {split}")
        parts.append(SourcePart(split, SPLIT_NAMES[split], read_rows, facts))
    return parts


def read_commit(address: str) -> dict[str, Any]:
    """Return the commit that the hub has for `hf://ORG/NAME[:CONFIG][@REVISION]` now.

    A revision that is a commit is not asked for. Raises DataError where the hub does not answer.
    """
    name, _, revision = _parse_address(address)
    if revision is not None and COMMIT.fullmatch(revision):
        return {"commit": revision}
    from httpx2 import HTTPError  # of the client below
    from huggingface_hub import HfApi

    try:
        facts = HfApi().dataset_info(name, revision=revision, timeout=LOOKUP_SECONDS)
    except (HTTPError, OSError, ValueError) as error:
        raise DataError(_explain(f"hf://{name}", error)) from None
    return {"commit": facts.sha}


def _parse_address(address: str) -> tuple[str, str | None, str | None]:
    name, _, revision = address.removeprefix("hf://").partition("@")
    name, _, config = name.partition(":")
    return name, config or None, revision or None


def _open_splits(name: str, config: str | None, revision: str | None) -> Any:
    from datasets import load_dataset

    is_local = name.startswith((".", "/"))  # a folder of this machine, no data set of the hub
    if is_local:
        _require_files(Path(name))
    with _name_errors(f"hf://{name}"):
        return load_dataset(name, config, revision=None if is_local else revision, streaming=True)


def _require_files(folder: Path) -> None:
    """Raise DataError for no folder, and for one that `save_to_disk` wrote."""
    if not folder.is_dir():
        raise DataError(f"hf://{folder}: no such folder; check data.source")
    if (folder / "state.json").is_file():
        raise DataError(
            f"hf://{folder}: a data set that save_to_disk wrote; "
            f"set data.source: {format_value(f'{folder}/*.arrow')}"
        )
    if (folder / "dataset_dict.json").is_file():
        raise DataError(
            f"hf://{folder}: data sets that save_to_disk wrote; "
            f"set data.source.train: {format_value(f'{folder}/train/*.arrow')}, "
            "and so on for the other splits"
        )


def _read_rows(split: Any, name: str, request: ReadRequest) -> Iterator[SourceRow]:
    if "@" not in name and not name.startswith(("hf://.", "hf:///")):
        request.notices.append(
            f"{name}: no revision is named, so a later run may read other rows; add @REVISION"
        )
    class_names = list_class_names(split.features.arrow_schema) if split.features else {}
    with _name_errors(name):
        for number, record in enumerate(split, 1):
            if number == 1:
                find_columns(name, list(record), request)
            place = f"{name}: row {number}"
            values = []
            for column in request.columns:
                value = name_class(record.get(column.name), class_names.get(column.name))
                values.append(column.convert(value, place))
            yield SourceRow(number, values)


@contextmanager
def _name_errors(name: str) -> Iterator[None]:
    """Turn errors of the datasets library into DataErrors that name the data set."""
    from datasets.exceptions import DatasetsError

    try:
        yield
    except (DatasetsError, OSError, ValueError) as error:
        raise DataError(_explain(name, error)) from None


def _explain(name: str, error: Exception) -> str:
    reason = " ".join(str(error).split())[:300]
    return (
        f"{name}: cannot be read ({reason}); check the name (hf://ORG/NAME:CONFIG@REVISION), "
        "the files behind it, the connection and HF_TOKEN"
    )
