"""PipelineDP's noise (Google's library below it) and choice at epsilon 1. Run by its own virtual environment."""

from typing import Any

import numpy as np
from draws import serve
from pipeline_dp import dp_computations as computations

LAPLACE = computations.LaplaceMechanism.create_from_epsilon(1.0, 1.0)
GAUSSIAN = computations.GaussianMechanism.create_from_epsilon_delta(1.0, 1e-5, 1.0)


class Scores(computations.ExponentialMechanism.ScoringFunction):
    """The data are the scores of the candidates 0, 1, ...; one person changes each by at most 1, up or down."""

    def __init__(self, scores: list[float]) -> None:
        self.scores = scores

    def score(self, k: int) -> float:
        return self.scores[k]

    @property
    def global_sensitivity(self) -> float:
        return 1.0

    @property
    def is_monotonic(self) -> bool:
        return False


def choice(data: list[float], size: int) -> Any:
    mechanism, candidates = computations.ExponentialMechanism(Scores(data)), list(range(len(data)))
    return np.array([mechanism.apply(1.0, candidates) for _ in range(size)])


MECHANISMS = {
    "laplace, floats": lambda data, size: LAPLACE.add_noise(np.full(size, float(data))),
    "gaussian, floats": lambda data, size: GAUSSIAN.add_noise(np.full(size, float(data))),
    "exponential mechanism": choice,
}


if __name__ == "__main__":
    serve(["pipeline-dp", "python-dp"], MECHANISMS)
