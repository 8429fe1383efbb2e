"""How the meaning of an epsilon is shown."""
