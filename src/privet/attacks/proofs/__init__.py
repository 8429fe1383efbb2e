"""Facts that hold in every data set which fits a release, and their certificates."""
