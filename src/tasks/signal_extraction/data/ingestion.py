"""From params to realisations, and a manifest of the rows that their windows give."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.task import SPLITS
from plumbline.tables.split_rows import gather_rows
from tasks.signal_extraction.data.generators import draw_windows
from tasks.signal_extraction.data.setting import Setting
from tasks.signal_extraction.data.storage import (
    Realisations,
    write_realisations,
    write_setting,
)
from tasks.signal_extraction.data.windows import read_windows
from tasks.signal_extraction.params import SignalParams

if TYPE_CHECKING:
    import pandas as pd


def ingest(params: SignalParams, examples: Path, manifest: Path) -> dict[str, Any]:
    """Write every split's realisations and the manifest; the facts say how many there are."""
    setting = Setting.from_params(params.data)
    write_setting(examples, setting)
    counts = {}
    for number, split in enumerate(SPLITS):
        total = getattr(params.data.realisations, split)
        random = np.random.default_rng((params.seed, number))
        signals, components = draw_windows(setting, total, random)
        ids = [f"{split}{row}" for row in range(total)]
        write_realisations(examples, split, Realisations(ids, signals, components))
        counts[split] = total
    gather_rows(list_rows, examples).to_parquet(manifest, index=False)
    return {"realisations": counts}


def list_rows(examples: Path, split: str) -> "pd.DataFrame":
    """Return the manifest's rows of one split, in order, with all columns but `split`."""
    import pandas as pd

    windows = read_windows(examples, split)
    window, part = windows.rows
    setting = windows.setting
    table = pd.DataFrame({"id": windows.ids, "label": np.array(setting.labels)[part]})
    return table.assign(
        length=setting.window,
        digest=np.array(windows.digests)[window],
        answer=np.array(windows.answer_digests)[window],
        realisation=np.array(windows.realisations)[window],
        frequency_hz=np.array(setting.frequencies_hz)[part],
        furthest=np.abs(windows.signals).max(axis=1)[window],  # NaN if a sample is NaN
    )
