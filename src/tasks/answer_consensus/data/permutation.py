"""The control's examples: the right answers, each at another question's place."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np

from tasks.answer_consensus.data.storage import SETTING, read_answers, write_answers


def shuffle_labels(examples: Path, target: Path, seed: int, max_rows: int) -> None:
    """Write train (`max_rows` of it) and validation to `target`, gold shuffled among questions."""
    shutil.copy2(examples / SETTING, target / SETTING)
    for split in ("train", "validation"):
        answers = read_answers(examples, split)
        if split == "train":
            answers = answers.take(np.arange(min(max_rows, len(answers.ids))))
        golds = np.random.default_rng(seed).permutation(answers.golds)
        write_answers(target, split, replace(answers, golds=golds))
