"""Other engines, each in a virtual environment and a process of its own: their pins clash with ours and each other's.

`process` is our side. `wire` and the scripts `run_*` are theirs: they import nothing of Privet.
"""
