"""What records must be before a policy may learn from them, and whether they leak."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.expectations import expect
from plumbline.contract.records import Check, Leak
from plumbline.contract.task import SPLITS
from plumbline.statistics.similar_texts import find_twins
from plumbline.tables.manifest_file import Manifest
from plumbline.tables.split_rows import count_leaks, find_earlier_splits, gather_rows
from tasks.answer_consensus.data import list_rows
from tasks.answer_consensus.data.storage import read_answers, read_setting
from tasks.answer_consensus.params import ConsensusParams
from tasks.answer_consensus.predictor import find_normaliser

if TYPE_CHECKING:
    import pandas as pd

SIMILARITY = 0.9  # Jaccard index of two questions' words from which on they are nearly equal
WORD = re.compile(r"\w+")


def build_table(
    params: ConsensusParams, examples: Path, manifest: Manifest, facts: Mapping[str, Any]
) -> "pd.DataFrame":
    """Return the manifest, and beside each question what agents answered.

    For each agent whether it gave no answer (`missing.AGENT`, 0 or 1), and in every row the agents
    that are right less often than the commonest answer is (`poor_agents`; null where none is).
    """
    rows = manifest.read()  # in the order of SPLITS, as ingest writes it
    setting = read_setting(examples)
    normalise = np.vectorize(find_normaliser(setting.normalise), otypes=[object])
    parts = [read_answers(examples, split) for split in SPLITS]
    given = np.concatenate([normalise(part.answers) for part in parts])
    golds = np.concatenate([normalise(part.golds) for part in parts])
    for place, name in enumerate(setting.agents):
        rows[f"missing.{name}"] = (given[:, place] == "").astype(float)
    poor = _find_poor_agents(setting.agents, given == golds[:, None], golds)
    return rows.assign(poor_agents=poor)


def build_checks(params: ConsensusParams, table: "pd.DataFrame") -> list[Check]:
    """Return the suite for a table of `build_table`; every check but `poor_agents` blocks."""
    checks = [
        Check(
            "poor_agents",
            expect("expect_column_values_to_be_null", column="poor_agents"),
            "warning",
            "Every agent is right more often than the commonest answer",
            "look at data.normalise and at how its answers were extracted, or leave the agent out",
        ),
    ]
    limit = params.validation.max_missing_share
    for name in params.data.agents:
        few = expect("expect_column_mean_to_be_between", column=f"missing.{name}", max_value=limit)
        title = f"{name} answers nearly every question"
        remedy = f"look at how the answers of {name} were extracted, or take it out of data.agents"
        checks.append(Check(f"missing_{name}", few, "blocking", title, remedy))
    return checks


def find_leaks(params: ConsensusParams, examples: Path) -> list[Leak]:
    """Count held-out questions that an earlier split has, by text, nearly so, or by group.

    Those that their own split has twice are copies.
    """
    rows = gather_rows(list_rows, examples)
    questions = [text for split in SPLITS for text in read_answers(examples, split).questions]
    exact = find_earlier_splits(rows, "digest")
    copies = rows["split"].where(rows.duplicated(["split", "digest"]), None)
    places = {
        "exact": exact,
        "near": _find_near_splits(rows["split"], questions).where(exact.isna(), None),
        "group": find_earlier_splits(rows, "group"),
        "copy": copies,
    }
    shown = [f"{name} ({text[:80]})" for name, text in zip(rows["id"], questions, strict=True)]
    return count_leaks(rows.assign(id=shown), places)


def list_words(text: str) -> list[str]:
    """List the words, numbers being words."""
    return WORD.findall(text.casefold())


def _find_poor_agents(agents: list[str], right: np.ndarray, golds: np.ndarray) -> str | None:
    """Name the agents whose accuracy [Q, A] does not reach the share of the commonest gold [Q]."""
    _, counts = np.unique(golds.astype(str), return_counts=True)
    commonest = counts.max() / len(golds)
    accuracy = right.mean(axis=0)
    poor = [name for name, share in zip(agents, accuracy, strict=True) if share <= commonest]
    return ", ".join(poor) or None


def _find_near_splits(splits: "pd.Series", questions: Sequence[str]) -> "pd.Series":
    """For each row "an earlier split" where one has nearly the same question, or None."""
    import pandas as pd

    texts = pd.Series(questions, index=splits.index, dtype=object)
    near = pd.Series(None, index=splits.index, dtype=object)
    for number, split in enumerate(SPLITS[1:], start=1):
        own = texts[splits == split]
        earlier = texts[splits.isin(SPLITS[:number])]
        twins = find_twins(own.tolist(), earlier.tolist(), SIMILARITY, list_words)
        near[own.index[list(twins)]] = "an earlier split"
    return near
