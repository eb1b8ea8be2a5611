"""The fine-tuned encoder as a Hugging Face class: no stock BERT class has mean pooling."""

import torch
from transformers import BertModel, BertPreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput


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
