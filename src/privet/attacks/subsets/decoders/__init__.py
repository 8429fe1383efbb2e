"""Secrets from sums: how to find a 0 or 1 for everybody when sums over known subsets were answered with errors.

Numbers in, numbers out: this room knows no release, no person and no report. `privet.attacks.subsets` has the words.
"""

from privet.attacks.subsets.decoders.problem import Decoded, Errors, Forecast, Matrix

__all__ = ["Decoded", "Errors", "Forecast", "Matrix"]
