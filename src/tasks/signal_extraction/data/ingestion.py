"""From params to realisations, and a manifest of the rows that their windows give."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.task import SPLITS
from plumbline.tables.split_rows import gather_rows
from tasks.signal_extraction.data import generators
from tasks.signal_extraction.data.setting import Setting
from tasks.signal_extraction.data.storage import (
    Realisations,
    write_realisations,
    write_setting,
)
from tasks.signal_extraction.data.windows import read_windows
from tasks.signal_extraction.params import PublishedMixture, SignalParams

if TYPE_CHECKING:
    import pandas as pd


def ingest(params: SignalParams, examples: Path, manifest: Path) -> dict[str, Any]:
    """Write every split's realisations and the manifest; the facts say how many there are."""
    setting = Setting.from_params(params.data)
    write_setting(examples, setting)
    counts = {}
    for number, split in enumerate(SPLITS):
        realisations = _draw_realisations(params, setting, split, number)
        write_realisations(examples, split, realisations)
        counts[split] = len(realisations.ids)
    gather_rows(list_rows, examples).to_parquet(manifest, index=False)
    return {"generator": setting.kind, "realisations": counts}


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
        start=windows.starts[window],
        frequency_hz=np.array(setting.frequencies_hz)[part],
        furthest=np.abs(windows.signals).max(axis=1)[window],  # NaN if a sample is NaN
    )


def _draw_realisations(
    params: SignalParams, setting: Setting, split: str, number: int
) -> Realisations:
    data = params.data
    if isinstance(data, PublishedMixture):
        seeds = data.seeds[split]  # type: ignore[index]  # SPLITS are its keys
        drawn = [generators.draw_published(setting, seed, data.num_samples) for seed in seeds]
        signals, components = (np.stack(parts) for parts in zip(*drawn, strict=True))
        return Realisations([f"seed{seed}" for seed in seeds], signals, components)
    total = getattr(data.realisations, split)
    random = np.random.default_rng((params.seed, number))
    signals, components = generators.draw_windows(setting, total, random)
    return Realisations([f"{split}{row}" for row in range(total)], signals, components)
