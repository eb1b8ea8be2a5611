"""From params to realisations, and a manifest of the rows that their windows give."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.task import SPLITS
from plumbline.tasks.signal_extraction.data import generators
from plumbline.tasks.signal_extraction.data.setting import Setting
from plumbline.tasks.signal_extraction.data.storage import Realisations, write, write_setting
from plumbline.tasks.signal_extraction.data.windows import Windows, windows
from plumbline.tasks.signal_extraction.params import Course, SignalParams

if TYPE_CHECKING:
    import pandas as pd


def ingest(params: SignalParams, examples: Path, manifest: Path) -> dict[str, Any]:
    """Write every split's realisations and the manifest; the facts say how many there are."""
    import pandas as pd

    made = Setting.of(params.data)
    write_setting(examples, made)
    counts = {}
    for number, split in enumerate(SPLITS):
        found = _realisations(params, made, split, number)
        write(examples, split, found)
        counts[split] = len(found.ids)
    tables = [_rows(split, windows(examples, split)) for split in SPLITS]
    pd.concat(tables, ignore_index=True).to_parquet(manifest, index=False)
    return {"generator": made.kind, "realisations": counts}


def _realisations(params: SignalParams, made: Setting, split: str, number: int) -> Realisations:
    if isinstance(params.data, Course):
        seeds = params.data.seeds[split]  # type: ignore[index]  # SPLITS are its keys
        drawn = [generators.published(made, seed, params.data.num_samples) for seed in seeds]
        signals, components = (np.stack(parts) for parts in zip(*drawn, strict=True))
        return Realisations([f"seed{seed}" for seed in seeds], signals, components)
    total = getattr(params.data.realisations, split)
    random = np.random.default_rng((params.seed, number))
    return Realisations(
        [f"{split}{row}" for row in range(total)], *generators.draw(made, total, random)
    )


def _rows(split: str, found: Windows) -> "pd.DataFrame":
    import pandas as pd

    window, part = found.rows
    table = pd.DataFrame(
        {"id": found.ids, "split": split, "label": np.array(found.setting.labels)[part]}
    )
    return table.assign(
        length=found.setting.window,
        digest=np.array(found.digests)[window],
        realisation=np.array(found.realisations)[window],
        start=found.starts[window],
        frequency_hz=np.array(found.setting.frequencies_hz)[part],
        furthest=np.abs(found.signals).max(axis=1)[window],  # NaN where a sample is
    )
