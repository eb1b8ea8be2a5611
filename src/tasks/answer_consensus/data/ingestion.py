"""From recorded answers to a table for each split, and a manifest with one row a question."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plumbline.contract.errors import DataError
from plumbline.contract.task import CONTENT_DIGEST, RIGHT_ANSWER, SPLITS
from plumbline.tables.split_rows import gather_rows
from tasks.answer_consensus.data.generated import generate_records
from tasks.answer_consensus.data.records import read_records
from tasks.answer_consensus.data.storage import (
    AnswerSetting,
    read_answers,
    read_setting,
    write_answers,
    write_setting,
)
from tasks.answer_consensus.data.tables import Answers, build_answers
from tasks.answer_consensus.params import (
    GENERATED,
    ConsensusParams,
    RecordedData,
    SplitShares,
)
from tasks.answer_consensus.predictor import find_normaliser

if TYPE_CHECKING:
    import pandas as pd

HASH_SIZE = 2**64


def ingest(params: ConsensusParams, examples: Path, manifest: Path) -> dict[str, Any]:
    """Write every split's answers, the setting and the manifest; the facts say how many."""
    data = params.data
    notices: list[str] = []
    if data.source == GENERATED:
        records = generate_records(data, params.seed)
    else:
        records = read_records(data, notices)
    answers = build_answers(records, list(data.agents), data.normalise, notices)
    parts = _divide(answers, data.split)
    write_setting(examples, _build_setting(data, parts["train"]))
    for split, part in parts.items():
        write_answers(examples, split, part)
    gather_rows(list_rows, examples).to_parquet(manifest, index=False)
    counts = {split: len(part.ids) for split, part in parts.items()}
    return {"source": data.source, "questions": counts, "notices": notices}


def list_rows(examples: Path, split: str) -> "pd.DataFrame":
    """Return the manifest's rows of one split, in order, with all columns but `split`.

    Nothing of a question's gold is in it but a digest.
    """
    import pandas as pd

    answers = read_answers(examples, split)
    normalise = find_normaliser(read_setting(examples).normalise)
    is_missing = np.vectorize(lambda text: not normalise(text))(answers.answers)
    return pd.DataFrame(
        {
            "id": answers.ids,
            "label": answers.labels,
            "length": list(map(len, answers.questions)),
            "digest": answers.digests,
            CONTENT_DIGEST: answers.content_digests,
            RIGHT_ANSWER: [_digest(normalise(gold)) for gold in answers.golds],
            "group": answers.groups,
            "num_missing": is_missing.sum(axis=1),
        }
    )


def _divide(answers: Answers, shares: SplitShares) -> dict[str, Answers]:
    """Divide questions by the digest of their group, or of their text."""
    keys = [
        _digest(group) if group else digest
        for group, digest in zip(answers.groups, answers.digests, strict=True)
    ]
    points = np.array([int(key[:16], 16) / HASH_SIZE for key in keys])
    is_test = points < shares.test
    is_validation = ~is_test & (points < shares.test + shares.validation)
    rows = {"train": ~is_test & ~is_validation, "validation": is_validation, "test": is_test}
    for split, mask in rows.items():
        if not mask.any():
            raise DataError(
                f"{len(points)} questions leave none for {split}; record more, or change data.split"
            )
    return {split: answers.take(np.flatnonzero(rows[split])) for split in SPLITS}


def _build_setting(data: RecordedData, train: Answers) -> AnswerSetting:
    """Build the setting; asking an agent costs what its answers to train cost in the mean."""
    agents = list(data.agents.values())
    prices = np.array([agent.price for agent in agents])
    costs = (train.tokens.mean(axis=0) * prices / 1000).tolist()
    for name, cost in zip(data.agents, costs, strict=True):
        if cost <= 0:
            raise DataError(
                f"agent {name} has 0 tokens in every row; give what its answers were billed for"
            )
    return AnswerSetting(
        agents=list(data.agents),
        models=[agent.model for agent in agents],
        prices=prices.tolist(),
        costs=costs,
        max_cost=data.max_cost,
        mean_cost=data.mean_cost,
        normalise=data.normalise,
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
