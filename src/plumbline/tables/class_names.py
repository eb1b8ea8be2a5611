"""Class names that files of the datasets library keep in their schema, beside numbered classes."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa

KEY = b"huggingface"  # of the metadata
T = TypeVar("T", "pa.RecordBatch", "pa.Table")

ClassNames = Mapping[str, Sequence[str]]  # by column


def list_class_names(schema: "pa.Schema") -> ClassNames:
    """Return the names of the classes of each column that has numbers, or lists of them, for them.

    None where the file has no such metadata, or none that can be read.
    """
    try:
        features = json.loads((schema.metadata or {})[KEY])["info"]["features"]
        found = {column: _find_names(feature) for column, feature in features.items()}
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}
    return {column: names for column, names in found.items() if names and column in schema.names}


def name_class(value: Any, names: Sequence[str] | None) -> Any:
    """Return the name of a numbered class, or the names for a list; without names the value."""
    if names is None:
        return value
    if isinstance(value, list):
        return [name_class(each, names) for each in value]
    if not isinstance(value, int):
        return value
    if 0 <= value < len(names):
        return names[value]
    return None  # the hub marks a missing label with -1


def name_classes(rows: T, class_names: ClassNames) -> T:
    """Return rows with names in place of numbered classes, and without the metadata of these."""
    import pyarrow as pa

    for column, names in class_names.items():
        position = rows.schema.get_field_index(column)
        if position >= 0:
            named = [name_class(value, names) for value in rows.column(position).to_pylist()]
            is_list = pa.types.is_nested(rows.schema.field(position).type)
            kind = pa.list_(pa.string()) if is_list else pa.string()
            rows = rows.set_column(position, column, pa.array(named, kind))
    if not class_names or rows.schema.metadata is None:
        return rows
    others = {key: value for key, value in rows.schema.metadata.items() if key != KEY}
    return rows.replace_schema_metadata(others)


def _find_names(feature: Any) -> Sequence[str] | None:
    """Find the names of a feature, or of the items of a list, as old and new versions write it."""
    if isinstance(feature, list):
        feature = feature[0]
    return feature.get("names") or (feature.get("feature") or {}).get("names")
