"""Where each artifact is."""

from pathlib import Path

PARAMS = Path("params.yaml")
CHAMPION = Path("champion.json")
EXAMPLES = Path("data/examples")
MANIFEST = Path("data/manifest.parquet")
SOURCE = Path("data/source.json")
IDENTITY = Path("data/identity.json")
VALIDATION = Path("reports/validation.json")
VALIDATION_PAGE = Path("reports/validation.html")
MODELS = Path("models")
EVIDENCE = Path("reports/evidence.json")
GOLDEN = Path("reports/golden.json")
METRICS = Path("reports/metrics.json")
PLOTS = Path("reports/plots")
TRAINING = Path("reports/training")
PREDICTIONS = Path("reports/predictions.parquet")
REPORT = Path("reports/report.html")
MODEL_CARD = Path("reports/model_card.md")
DRIFT_REFERENCE = Path("reports/reference.parquet")
DRIFT = Path("reports/drift.json")
DRIFT_PAGE = Path("reports/drift.html")
OUTCOMES = Path("reports/outcomes.json")
OUTCOMES_PAGE = Path("reports/outcomes.html")
REGISTRATION = Path("reports/registration.json")
CHECKPOINTS = Path(".plumbline/checkpoints")
DOWNLOADS = Path(".plumbline/downloads")
MEASURED = Path(".plumbline/measured")
MEASURED_FACTS = Path(".plumbline/measured/facts.json")  # without it nothing there counts
TEMPORARY = ".aside"  # ends the names of temporary files and folders, which DVC and git ignore

CONTROL = "control."  # begins the name of a candidate that is trained on shuffled answers


def locate_bundle(candidate: str) -> Path:
    """Return the folder of the trained model of one candidate."""
    return MODELS / candidate


def name_control(candidate: str) -> str:
    """Return the name of a candidate trained on shuffled answers; no candidate can have it."""
    return f"{CONTROL}{candidate}"


def is_control(name: str) -> bool:
    """Whether a candidate of this name is trained on shuffled answers."""
    return name.startswith(CONTROL)
