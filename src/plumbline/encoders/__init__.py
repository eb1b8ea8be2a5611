"""Pretrained encoders of texts: weights, tokenizer, cheap layers, pooling, export and int8."""
