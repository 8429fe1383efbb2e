"""diffprivlib's models, a fit at a time. Run by its own virtual environment: it needs an older scikit-learn.

{"model", "arguments", "path", "out", "seed", "patience"}: "path" is an archive of train, test and, where there is one,
target. What the model says of the test rows (or its centers, or its components) is written to "out". A pair of
arguments is a tuple.
The answer has "seconds", of processor time. A fit that takes more than "patience" of them is stopped.
"""

import json
import signal
import sys
import time
import warnings
from importlib.metadata import version
from typing import Any

import numpy as np
from diffprivlib import models

PLAIN = {"KMeans": "cluster_centers_", "PCA": "components_"}


def fit(ask: dict[str, Any]) -> dict[str, Any]:
    data = np.load(ask["path"])
    given = {name: tuple(one) if isinstance(one, list) else one for name, one in ask["arguments"].items()}
    model = getattr(models, ask["model"])(random_state=ask["seed"], **given)
    begun = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, ask["patience"])
    model.fit(data["train"].copy(), *([data["target"]] if "target" in data else []))
    signal.setitimer(signal.ITIMER_PROF, 0)
    seconds = time.process_time() - begun
    plain = PLAIN.get(ask["model"])
    np.save(ask["out"], getattr(model, plain) if plain else model.predict(data["test"]))
    return {"seconds": seconds}


def stop(*_: Any) -> None:
    raise TimeoutError("the fit takes too long")


def main() -> None:
    signal.signal(signal.SIGPROF, stop)
    warnings.simplefilter("ignore")
    out, sys.stdout = sys.stdout, sys.stderr  # what the peer prints must not look like an answer
    print(json.dumps({name: version(name) for name in ("diffprivlib", "scikit-learn")}), file=out, flush=True)
    for line in sys.stdin:
        try:
            reply = fit(json.loads(line))
        except Exception as error:  # the peer's own words are the result
            signal.setitimer(signal.ITIMER_PROF, 0)
            reply = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"}
        print(json.dumps(reply), file=out, flush=True)


if __name__ == "__main__":
    main()
