"""Fuzz of every parser that meets the network: inputs are mutated from a corpus, by a seed."""
