"""The table that checks look at: the manifest, and beside each row what its realisation shows."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.task import SPLITS
from plumbline.tables.manifest_file import Manifest
from plumbline.tables.split_rows import find_earlier_splits
from tasks.signal_extraction.data import read_realisations, read_setting
from tasks.signal_extraction.expectations.spectrum import find_peaks
from tasks.signal_extraction.params import SignalParams

if TYPE_CHECKING:
    import pandas as pd


def build_table(
    params: SignalParams, examples: Path, manifest: Manifest, facts: Mapping[str, Any]
) -> "pd.DataFrame":
    """Return the manifest with three more columns.

    `peak_error_hz`, and the earlier split with the same realisation (`also_in`) or window
    (`seen_in`).
    """
    keys = ["split", "realisation", "label"]
    rows = manifest.read().merge(_measure_peaks(examples), on=keys, how="left")
    return rows.assign(
        also_in=find_earlier_splits(rows, "realisation"),
        seen_in=find_earlier_splits(rows, "digest"),
    )


def _measure_peaks(examples: Path) -> "pd.DataFrame":
    """One row for each component of each realisation: how far its peak is from its frequency."""
    import pandas as pd

    setting = read_setting(examples)
    top_hz = 2 * max(setting.frequencies_hz)
    tables = []
    for split in SPLITS:
        realisations = read_realisations(examples, split)
        peaks = find_peaks(realisations.components, setting.sample_rate_hz, top_hz)
        errors = np.abs(peaks - np.array(setting.frequencies_hz))
        rows = {
            "split": split,
            "realisation": np.repeat(realisations.ids, len(setting.labels)),
            "label": np.tile(setting.labels, len(realisations.ids)),
            "peak_error_hz": errors.ravel(),
        }
        tables.append(pd.DataFrame(rows))
    keys = ["split", "realisation", "label"]
    return pd.concat(tables, ignore_index=True).drop_duplicates(keys)
