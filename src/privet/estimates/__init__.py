"""Free: what a question will cost and how near its answer will be, and what is made of numbers that were released.

Nothing here carries the guarantee. The gate prices by itself what the back end is told to enforce, and refuses a charge
that is too small; what is computed after the noise is post-processing.
"""
