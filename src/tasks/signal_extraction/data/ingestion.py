"""From params to windows, and a manifest of the rows that they give."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.task import SPLITS
from plumbline.tables.split_rows import gather_rows
from tasks.signal_extraction.data.setting import Setting, draw_windows
from tasks.signal_extraction.data.windows import (
    digest_arrays,
    read_windows,
    write_setting,
    write_windows,
)
from tasks.signal_extraction.params import SignalParams

if TYPE_CHECKING:
    import pandas as pd


def ingest(params: SignalParams, examples: Path, manifest: Path) -> dict[str, Any]:
    """Write every split's windows and the manifest; the facts say how many there are."""
    setting = Setting.from_params(params.data)
    write_setting(examples, setting)
    counts = {}
    for number, split in enumerate(SPLITS):
        total = getattr(params.data.realisations, split)
        random = np.random.default_rng((params.seed, number))
        write_windows(examples, split, *draw_windows(setting, total, random))
        counts[split] = total
    gather_rows(list_rows, examples).to_parquet(manifest, index=False)
    return {"realisations": counts}


def list_rows(examples: Path, split: str) -> "pd.DataFrame":
    """Return the manifest's rows of one split, in order, with all columns but `split`."""
    import pandas as pd

    windows = read_windows(examples, split)
    window, part = windows.rows
    setting = windows.setting
    ids = windows.name_rows(split)
    return pd.DataFrame({"id": ids, "label": np.array(setting.labels)[part]}).assign(
        length=setting.window,
        digest=np.array(digest_arrays(windows.signals))[window],
        answer=np.array(digest_arrays(windows.components))[window],
        frequency_hz=np.array(setting.frequencies_hz)[part],
        furthest=np.abs(windows.signals).max(axis=1)[window],  # NaN if a sample is NaN
    )
