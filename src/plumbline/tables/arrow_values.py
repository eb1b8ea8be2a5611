"""The values of an Arrow column in Python; one that cannot be one of Python's is named."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from plumbline.contract.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

# For bytes that are not UTF-8, times beyond the year 9999, and zones that nobody knows.
UNREADABLE = (ValueError, ArithmeticError, LookupError)


def list_values(values: "pa.Array", describe_place: Callable[[int], str]) -> list[Any]:
    """Return the values in their order, None for null.

    Raises DataError where a value cannot be read; `describe_place` says where, from its position.
    """
    try:
        return list(values.to_pylist())
    except UNREADABLE:  # it does not say in which row
        return [
            _read_value(value, describe_place(position)) for position, value in enumerate(values)
        ]


def _read_value(value: "pa.Scalar", place: str) -> Any:
    try:
        return value.as_py()
    except UNREADABLE as error:
        raise DataError(f"{place}: cannot be read ({error}); correct it in the file") from None
