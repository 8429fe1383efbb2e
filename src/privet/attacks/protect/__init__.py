"""The least that has to be left out of a release so that nobody is certain."""
