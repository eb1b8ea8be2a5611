"""The table that expectations look at: the manifest, and beside each row what was found in its realisation."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.task import SPLITS
from plumbline.tasks.signal_extraction.data import read, setting
from plumbline.tasks.signal_extraction.expectations.spectrum import peaks
from plumbline.tasks.signal_extraction.params import SignalParams

if TYPE_CHECKING:
    import pandas as pd


def table(
    params: SignalParams, examples: Path, manifest: "pd.DataFrame", facts: Mapping[str, Any]
) -> "pd.DataFrame":
    """The manifest with `peak_error_hz`, and earlier splits with this realisation, `also_in`, or window, `seen_in`."""
    rows = manifest.merge(_components(examples), on=["split", "realisation", "label"], how="left")
    return rows.assign(also_in=earlier(rows, "realisation"), seen_in=earlier(rows, "digest"))


def earlier(rows: "pd.DataFrame", column: str) -> "pd.Series":
    """For each row the first split before its own that holds its value in `column`; None where there is none."""
    import pandas as pd

    found = pd.Series(None, index=rows.index, dtype=object)
    for number, split in list(enumerate(SPLITS))[:0:-1]:
        for before in SPLITS[:number][::-1]:
            known = set(rows.loc[rows["split"] == before, column])
            found[(rows["split"] == split) & rows[column].isin(known)] = before
    return found


def _components(examples: Path) -> "pd.DataFrame":
    """One row for each component of each realisation: how far its spectral peak is from the frequency that names it."""
    import pandas as pd

    made = setting(examples)
    top_hz, parts = 2 * max(made.frequencies_hz), []
    for split in SPLITS:
        found = read(examples, split)
        errors = np.abs(
            peaks(found.components, made.sample_rate_hz, top_hz) - np.array(made.frequencies_hz)
        )
        labels = np.tile(made.labels, len(found.ids))
        rows = {
            "split": split,
            "realisation": np.repeat(found.ids, len(made.labels)),
            "label": labels,
        }
        parts.append(pd.DataFrame(rows | {"peak_error_hz": errors.ravel()}))
    return pd.concat(parts, ignore_index=True).drop_duplicates(["split", "realisation", "label"])
