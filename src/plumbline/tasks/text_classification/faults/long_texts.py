"""Texts that are longer than a model reads: what tells their class is at the beginning."""

import random
import re
from collections.abc import Sequence

from plumbline.tasks.text_classification.faults.fixture import read_fixture
from plumbline.tasks.text_classification.faults.sound_data import Row, plant_rows
from plumbline_selftest.protocol import Fault, FaultSite

SEED = 6
NUM_FILLERS = 80  # words that say nothing of the class, in each text
FILLER = (
    "and then the day went on as such days do with some rain in the morning while we had a walk "
    "along a river that runs past old trees until it was late"
)
CONFIG = """\
    kind: transformer
    forms: [fp32]
    vocabulary: 1500
    hidden: 64
    layers: 1
    heads: 4
    dropout: 0.1
    max_tokens: 40
    learning_rate: 2.0e-3
    head_learning_rate: 2.0e-3
    weight_decay: 0.01
    label_smoothing: 0.1
    warmup: 0.1
    batch_size: 32
    max_epochs: 6
    patience: 3
    gradient_clip: 1.0
"""


def extend_texts(rows: Sequence[Row]) -> list[Row]:
    """Let each text go on for longer than the model reads, after what tells its class."""
    draw = random.Random(SEED)  # noqa: S311 (test data)
    words = FILLER.split()
    return [
        (f"{text} {' '.join(draw.choices(words, k=NUM_FILLERS))}", label) for text, label in rows
    ]


def plant_long_texts(site: FaultSite) -> None:
    """Lengthen the tickets, for a model that reads 40 tokens of each."""
    plant_rows(extend_texts)(site)
    site.edit_params(find_config(read_fixture()), CONFIG)


def find_config(text: str) -> str:
    """Return the config of the fixture's candidate, as it is written in params.yaml."""
    config = re.search(r"    kind: linear\n(    .*\n)+", text)
    if config is None:
        raise LookupError("the fixture has no candidate of kind linear")
    return config[0]


FAULTS = (
    Fault(
        "sound: texts that go on beyond what the model reads",
        "none",
        "promote",
        plant_long_texts,
        before="start",
    ),
)
