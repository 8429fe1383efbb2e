"""Who was in the training data of a model? Attacks on fitted models and on models behind a query function."""
