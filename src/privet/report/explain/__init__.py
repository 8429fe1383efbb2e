"""How a question is explained before it is asked."""
