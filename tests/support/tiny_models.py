"""Tiny models with random weights, in the files that a model on a hub has."""

from pathlib import Path
from typing import Any

from plumbline.encoders.tokenizer import train_tokenizer

WORDS = [f"{word} {number}" for word in ("parcel", "invoice", "password") for number in range(20)]
NUM_POSITIONS = 64
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": NUM_POSITIONS,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
OTHERS: dict[str, dict[str, Any]] = {
    "albert": {"embedding_size": 16},
    "electra": {"embedding_size": 16},
    "deberta": {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "deberta-v2": {
        "relative_attention": True,
        "pos_att_type": ["c2p", "p2c"],
        "position_buckets": 8,
        "share_att_key": True,
        "norm_rel_ebd": "layer_norm",
        "position_biased_input": False,
    },
    "distilbert": {"hidden_dim": 64},
    "gpt2": {"n_inner": 64},
    "llama": {"num_key_value_heads": 2},
    "qwen3": {"num_key_value_heads": 2, "head_dim": 8},
    "modernbert": {"cls_token_id": 1, "sep_token_id": 2, "local_attention": 8},
    "roberta": {"max_position_embeddings": NUM_POSITIONS + 2, "pad_token_id": 1},
    "xlm-roberta": {"max_position_embeddings": NUM_POSITIONS + 2, "pad_token_id": 1},
    "mpnet": {"pad_token_id": 1},
}


def write_model(folder: Path, model_type: str, **changes: Any) -> Path:
    """Write config.json, tokenizer.json and model.safetensors of a random model of this type."""
    import torch
    from transformers import AutoConfig, AutoModel
    from transformers.utils import logging

    logging.disable_progress_bar()

    tokenizer = train_tokenizer([WORDS], 400, NUM_POSITIONS)
    sizes = {"vocab_size": tokenizer.get_vocab_size(), **SIZES, **OTHERS.get(model_type, {})}
    config = AutoConfig.for_model(model_type, **(sizes | changes))
    torch.manual_seed(0)
    model = AutoModel.from_config(config)
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
