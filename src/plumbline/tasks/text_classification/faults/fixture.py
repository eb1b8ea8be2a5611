"""The params.yaml of the small pipeline."""

from pathlib import Path

PARAMS = Path(__file__).with_name("params.yaml")
FEATURES = "max_features: 20000"
WEAKER = {FEATURES: "max_features: 400"}


def read_candidate() -> str:
    """Return the config of the candidate, as it is written in params.yaml."""
    return PARAMS.read_text(encoding="utf-8").split("  linear:\n")[1].split("training:")[0]
