"""Search over one's own texts: an encoder fine-tuned on pairs of queries and passages."""
