"""Which pretrained encoders can be fine-tuned here, by the files of a checkpoint; their shape."""

from pathlib import Path
from typing import Any

from plumbline.contract.errors import ParamsError, TrainingError
from plumbline.process.files import read_json

# `model_type` in config.json. Each goes through training, export, int8 and the predictor in
# tests/tasks/text_classification/test_architectures.py.
SUPPORTED = (
    "albert", "bert", "deberta", "deberta-v2", "distilbert", "electra", "eurobert", "gpt2",
    "llama", "modernbert", "mpnet", "qwen3", "roberta", "xlm-roberta",
)  # fmt: skip
CONVERT = (
    "write what is missing once into a folder, and name that as weights: "
    '`python -c "from transformers import AutoModel, AutoTokenizer as T; '
    "AutoModel.from_pretrained('{source}').save_pretrained('FOLDER', max_shard_size='999GB'); "
    "T.from_pretrained('{source}').save_pretrained('FOLDER')\"`"
)
# Of a config: names of code and versions.
UNKEPT = ("auto_map", "code_revision", "dtype", "torch_dtype", "transformers_version")


def check_files(weights: str, names: set[str], needed: list[str]) -> None:
    """Raise TrainingError if a checkpoint of the files `names` lacks one that is needed."""
    missing = [name for name in needed if name not in names]
    if not missing:
        return
    source = weights.removeprefix("hf://").partition("@")[0]
    raise TrainingError(
        f"weights {weights}: no {' and no '.join(missing)}: {CONVERT.format(source=source)}"
    )


def check_architecture(weights: str, folder: Path) -> None:
    """Raise ParamsError if the model that config.json in `folder` describes cannot work here."""
    config = read_json(folder / "config.json")
    kind = config.get("model_type")
    if kind in SUPPORTED:
        return
    reason = "no test shows that its export works"
    if "auto_map" in config:
        reason = "its code is part of the checkpoint, and such code is not run"
    raise ParamsError(
        f"weights {weights}: model_type {kind!r} cannot be fine-tuned: {reason}; "
        f"these can: {', '.join(SUPPORTED)}"
    )


def check_loading(weights: str, missing: set[str]) -> None:
    """Raise TrainingError if the checkpoint lacks tensors, which would stay random.

    A pooler, which is not used, may be missing.
    """
    lacking = sorted(name for name in missing if not name.startswith("pooler."))
    if lacking:
        shown = ", ".join(lacking[:3])
        raise TrainingError(
            f"weights {weights}: {len(lacking)} tensors of the encoder are not in the checkpoint "
            f"({shown}); is config.json that of these weights?"
        )


def get_max_tokens(encoder: Any) -> int | None:
    """Return how many tokens `encoder` reads at most; None where its config states no limit.

    Encoders of RoBERTa's kind count positions from the one after that of padding, so 514 positions
    are 512 tokens.
    """
    limit = getattr(encoder.config, "max_position_embeddings", None)
    positions = getattr(getattr(encoder, "embeddings", None), "position_embeddings", None)
    padding = getattr(positions, "padding_idx", None)
    if positions is None or padding is None:
        return limit
    return int(positions.num_embeddings) - int(padding) - 1


def rebuild_body(architecture: dict[str, Any]) -> Any:
    """Build the encoder that `describe_architecture` described, with random weights."""
    from transformers import AutoConfig, AutoModel

    encoder = AutoModel.from_config(AutoConfig.for_model(**architecture))
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    return encoder


def describe_architecture(encoder: Any) -> dict[str, Any]:
    """Describe the shape of `encoder` as its library does; names of code and versions are left out.

    The bundle keeps it, so that the weights can be answered with where the pretrained ones are not.
    """
    kept = {}
    for name, value in encoder.config.to_dict().items():
        is_plain = value is None or isinstance(value, str | int | float | list | dict)
        if is_plain and not name.startswith("_") and name not in UNKEPT:
            kept[name] = value
    return kept
