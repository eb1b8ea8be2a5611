"""plumbline: data goes in, a model that can be trusted comes out."""
