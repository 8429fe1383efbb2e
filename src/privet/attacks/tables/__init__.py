"""Attack on published tables: the records behind them, and what is certain about people."""
