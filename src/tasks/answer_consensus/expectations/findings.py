"""The table that checks look at: the manifest, and beside each question what agents answered."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.task import SPLITS
from plumbline.tables.manifest_file import Manifest
from plumbline.tables.split_rows import find_earlier_splits
from tasks.answer_consensus.data import find_normaliser, read_answers, read_setting
from tasks.answer_consensus.params import ConsensusParams

if TYPE_CHECKING:
    import pandas as pd


def build_table(
    params: ConsensusParams, examples: Path, manifest: Manifest, facts: Mapping[str, Any]
) -> "pd.DataFrame":
    """Return the manifest with the earlier split of the same question (`seen_in`), and more.

    For each agent whether it gave no answer (`missing.AGENT`, 0 or 1), and in every row the agents
    that are right less often than the commonest answer is (`poor_agents`; null where none is).
    """
    import pandas as pd

    rows = manifest.read()
    setting = read_setting(examples)
    missing, right, golds = [], [], []
    normalise = np.vectorize(find_normaliser(setting.normalise), otypes=[object])
    for split in SPLITS:
        answers = read_answers(examples, split)
        given = normalise(answers.answers)
        gold = normalise(answers.golds)
        missing.append(given == "")
        right.append(given == gold[:, None])
        golds.append(gold)
    names = [f"missing.{name}" for name in setting.agents]
    shares = pd.DataFrame(np.concatenate(missing).astype(float), columns=names)
    # Rows of the manifest are in the order of SPLITS, as ingest writes them.
    table = pd.concat([rows, shares], axis=1)
    return table.assign(
        seen_in=find_earlier_splits(table, "digest"),
        poor_agents=_find_poor_agents(setting.agents, np.concatenate(right), np.concatenate(golds)),
    )


def _find_poor_agents(agents: list[str], right: np.ndarray, golds: np.ndarray) -> str | None:
    """Name the agents whose accuracy [Q, A] does not reach the share of the commonest gold [Q]."""
    _, counts = np.unique(golds.astype(str), return_counts=True)
    commonest = counts.max() / len(golds)
    accuracy = right.mean(axis=0)
    poor = [name for name, share in zip(agents, accuracy, strict=True) if share <= commonest]
    return ", ".join(poor) or None
