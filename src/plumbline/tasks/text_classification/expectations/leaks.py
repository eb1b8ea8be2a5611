"""What the leakage gate asks: are examples in two splits, although validation accepted them?"""

from pathlib import Path
from typing import Literal

from plumbline.contract.records import Leak
from plumbline.tasks.text_classification.expectations import duplicates, recognition
from plumbline.tasks.text_classification.expectations.findings import HELD_OUT, make_excerpt
from plumbline.tasks.text_classification.expectations.text_rows import read_example_rows
from plumbline.tasks.text_classification.params import TextParams

MAX_EXAMPLES = 5
Kind = Literal["exact", "near", "group", "copy"]
COUNT_ROWS = "SELECT split, count(*) FROM rows GROUP BY split"
READ_EXAMPLES = 'SELECT id, text FROM rows WHERE "#row" IN (SELECT unnest(?)) ORDER BY "#row"'


def find_leaks(params: TextParams, examples: Path) -> list[Leak]:
    """Find texts of validation and test that are, exactly or nearly, in a split before theirs.

    So are groups in two splits, where splits go by group, and values of metadata or numbers in the
    texts that come back with the label that they had.
    """
    rows = read_example_rows(examples, params.data.columns.metadata)
    sizes = dict(rows.query(COUNT_ROWS).itertuples(index=False, name=None))
    leaks = []
    for split, before in HELD_OUT.items():
        found: dict[Kind, dict[int, str]] = {
            "exact": duplicates.find_exact_leaks(rows, split, before),
            "near": duplicates.find_near_leaks(rows, split, before),
            "copy": duplicates.find_copies(rows, [split]),
            "group": recognition.find_shared_groups(rows, params, split, before),
        }
        for kind, findings in found.items():
            first = rows.query(READ_EXAMPLES, sorted(findings)[:MAX_EXAMPLES])
            shown = [f"{id_} ({make_excerpt(text)})" for id_, text in first.itertuples(index=False)]
            leaks.append(Leak(kind, split, len(findings), sizes.get(split, 0), tuple(shown)))
    return leaks
