"""The rows of a data set with their texts in a database; what is computed of a text is so once."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.contract.task import SPLITS
from plumbline.tables.manifest_file import Manifest
from plumbline.tables.rows import StoredRows
from plumbline.tasks.text_classification.data import normalise
from plumbline.tasks.text_classification.data.storage import read_batches

if TYPE_CHECKING:
    import pyarrow as pa

FIND_EQUAL = """
    SELECT own."#row", earlier.id
    FROM rows AS own
    JOIN (
        SELECT "{column}" AS value, arg_min(id, "#row") AS id
        FROM rows WHERE split IN (SELECT unnest(?)) GROUP BY value
    ) AS earlier ON own."{column}" = earlier.value
    WHERE own.split = ? ORDER BY own."#row"
"""
FIND_IDS = """
    SELECT "{column}", arg_min(id, "#row") FROM rows
    WHERE split IN (SELECT unnest(?)) AND "{column}" IN (SELECT unnest(?)) GROUP BY "{column}"
"""
# Of texts that are equal but for blanks the first one.
FIRST_ROWS = """
    SELECT min("#row") AS "#row" FROM rows WHERE split IN (SELECT unnest(?)) GROUP BY hash(compact)
"""
# Of HTML that changes how a text looks; the tags and attributes of XML may be what it says.
CLOSING_TAG = re.compile(r"</(a|b|div|em|font|i|p|small|span|strong|u)\s*>", re.IGNORECASE)
READ_FIRST = 'SELECT {form} FROM rows JOIN firsts USING ("#row") WHERE {{part}}'


def read_manifest_rows(
    manifest: Manifest, examples: Path, columns: Sequence[str], metadata: Sequence[str]
) -> StoredRows:
    """Return columns of the manifest, in its order, with `text`, `normal` and `compact`.

    The examples are those of the manifest, as `check_manifest` found. Columns of metadata are
    called by `name_metadata`.
    """
    import pyarrow as pa

    def read_with_texts() -> "Iterator[pa.RecordBatch]":
        texts = {split: _read_texts(examples, split) for split in SPLITS}
        for batch in manifest.read_batches([*columns, *metadata]):
            own = [next(texts[split]) for split in batch["split"].to_pylist()]
            yield batch.append_column("text", pa.array(own, pa.string()))

    return StoredRows(_complete_batches(read_with_texts(), columns, metadata))


def read_example_rows(examples: Path, metadata: Sequence[str]) -> StoredRows:
    """Return `id`, `split`, `label`, these columns, and forms of the text: one split after another.

    A column that the examples do not have is left out.
    """
    import pyarrow as pa

    def read_splits() -> "Iterator[pa.RecordBatch]":
        for split in SPLITS:
            for batch in read_batches(examples, split, ("id", "label", "text", *metadata)):
                own = pa.array([split] * batch.num_rows, pa.string())
                yield batch.append_column("split", own)

    return StoredRows(_complete_batches(read_splits(), ("id", "split", "label"), metadata))


def name_metadata(number: int) -> str:
    """Return the name in `rows` of a column of metadata: to SQL, `Day` and `day` are one."""
    return f"#{number}"


def build_form(text: str) -> str:
    """Return the comparison form without tags of HTML that are closed in `text`."""
    names = "|".join(sorted(set(CLOSING_TAG.findall(text))))
    plain = re.sub(rf"</?(?:{names})(?:\s[^<>]*)?>", " ", text) if names else text
    return normalise(plain) or normalise(text)


def find_equal(rows: StoredRows, column: str, split: str, before: Sequence[str]) -> dict[int, str]:
    """Map rows of `split` to the id of the first one of `before` with an equal value."""
    query = FIND_EQUAL.format(column=column)
    return dict(rows.query(query, list(before), split).itertuples(index=False, name=None))


def find_ids(
    rows: StoredRows, column: str, values: Iterable[str], splits: Sequence[str]
) -> dict[str, str]:
    """Map values to the id of the first row of these splits that has it."""
    query = FIND_IDS.format(column=column)
    return dict(rows.query(query, list(splits), list(values)).itertuples(index=False, name=None))


def read_first_texts(rows: StoredRows, form: str, splits: Sequence[str]) -> Iterator[str]:
    """Yield one form of each text of these splits, of those that are equal but for blanks once."""
    rows.query(f"CREATE OR REPLACE TABLE firsts AS {FIRST_ROWS}", list(splits))
    for batch in rows.read_parts(READ_FIRST.format(form=form)):
        yield from batch[form].to_pylist()


def _read_texts(examples: Path, split: str) -> Iterator[str]:
    for batch in read_batches(examples, split, ["text"]):
        yield from batch["text"].to_pylist()


def _complete_batches(
    batches: "Iterable[pa.RecordBatch]", columns: Sequence[str], metadata: Sequence[str]
) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    for batch in batches:
        forms = list(map(build_form, batch["text"].to_pylist()))
        compact = [form.replace(" ", "") for form in forms]
        values = {name: batch[name] for name in (*columns, "text")}
        values |= {name_metadata(number): batch[name] for number, name in enumerate(metadata)}
        values |= {
            "normal": pa.array(forms, pa.string()),
            "compact": pa.array(compact, pa.string()),
        }
        yield pa.record_batch(values)
