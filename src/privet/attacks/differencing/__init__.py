"""Attack by differences: what answers to several queries say together about one person."""
