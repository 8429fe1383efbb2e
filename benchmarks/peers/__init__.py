"""Other engines, each in a virtual environment and a process of its own: their pins clash with ours and each other's.

`process` is our side. `wire` and the scripts `run_*` are theirs: they import nothing of Privet. In audits our side is
`sampler`, and theirs is `draws` with the scripts `draw_*` (libraries) and `judge_*` (auditors of the `contest`).
"""
