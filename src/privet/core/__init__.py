"""TRUSTED and PURE: the arithmetic of privacy.

No IO, clock, logging, NumPy or randomness; uniform integers are arguments. Numbers are `int` and
`Fraction`. Every function that states a guarantee carries `@claim`, and docs/claims.md says why it holds.
"""
