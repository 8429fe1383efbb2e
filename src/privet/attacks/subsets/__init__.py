"""Attack on noisy sums over many subsets (Dinur and Nissim): the secret bit of everybody."""
