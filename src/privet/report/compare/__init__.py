"""How comparisons of releases are shown."""
