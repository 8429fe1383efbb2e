"""Membership attacks of SACRO-ML and the Adversarial Robustness Toolbox (ART) on one model, in their own environment.

{"model", "path", "out", "shadows", "seed"}: "model" is a pickled MLPClassifier, "path" an archive of members and
others with their classes. A score for each member, then for each of the others, is written to "out" for each attack.
The answer has "seconds" of processor time for each attack; LiRA's four settings share their shadow models, so only the
first one counts these.
"""

import json
import logging
import pickle
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from art.attacks.inference.membership_inference import MembershipInferenceBlackBox, ShadowModels
from art.estimators.classification.scikitlearn import ScikitlearnClassifier
from sacroml.attacks.likelihood_attack import LIRAAttack
from sacroml.attacks.qmia_attack import QMIAAttack
from sacroml.attacks.target import Target

Scores = Any  # an array
FEWER = 16  # shadow models of ART (3 by default), whose attacks learn from the records of all of them


def attacks(ask: dict[str, Any], folder: str) -> dict[str, Callable[[], Scores]]:
    data = np.load(ask["path"])
    with open(ask["model"], "rb") as file:  # noqa: PTH123
        model = pickle.load(file)  # made by our own benchmark a moment ago
    inside, outside = (data["rows_in"], data["labels_in"]), (data["rows_out"], data["labels_out"])

    def sacro(attack: Any) -> Scores:  # it renumbers the classes of a target, so each attack gets a new one
        attack.attack(
            Target(
                model=model, X_train=inside[0], y_train=inside[1], X_test=outside[0], y_test=outside[1],
                dataset_name="records",
            )
        )  # fmt: skip
        return attack.attack_metrics[0]["individual"]["member_prob"]

    def lira(mode: str, *, fixed: bool) -> Scores:
        return sacro(
            LIRAAttack(
                output_dir=folder, write_report=False, n_shadow_models=ask["shadows"], mode=mode, fix_variance=fixed,
                report_individual=True,
            )
        )  # fmt: skip

    def art(kind: str) -> Scores:
        rows, labels = np.concatenate([inside[0], outside[0]]), np.concatenate([inside[1], outside[1]])
        classes = np.unique(labels)
        hot = (labels[:, None] == classes).astype(float)
        owned = ScikitlearnClassifier(model)
        shadows = ShadowModels(owned, num_shadow_models=min(FEWER, ask["shadows"]), random_state=ask["seed"])
        (x, y, told), (other_x, other_y, other_told) = shadows.generate_shadow_dataset(rows, hot, member_ratio=0.5)
        attack = MembershipInferenceBlackBox(owned, attack_model_type=kind)
        attack.fit(x, y, other_x, other_y, told, other_told)
        return np.ravel(attack.infer(rows, hot, probabilities=True))

    return {
        "SACRO-ML LiRA online, one variance": lambda: lira("online-carlini", fixed=True),
        "SACRO-ML LiRA online": lambda: lira("online-carlini", fixed=False),
        "SACRO-ML LiRA offline, one variance": lambda: lira("offline", fixed=True),
        "SACRO-ML LiRA offline": lambda: lira("offline", fixed=False),
        "SACRO-ML quantile regression": lambda: sacro(
            QMIAAttack(output_dir=folder, write_report=False, report_individual=True)
        ),
        "ART black box": lambda: art("rf"),  # its network takes five times as long; on Adult, AUC .55
    }


def measured(ask: dict[str, Any]) -> dict[str, Any]:
    np.random.seed(ask["seed"])  # what these libraries draw from
    seconds, scores, failed = {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name, attack in attacks(ask, folder).items():
            start = time.process_time()
            try:
                scores[name] = np.asarray(attack(), float)
                seconds[name] = time.process_time() - start
            except Exception as error:  # the peer's own words are the result
                failed[name] = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    np.savez(ask["out"], **scores)
    return {"seconds": seconds, "failed": failed}


def main() -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    out, sys.stdout = sys.stdout, sys.stderr  # what a peer prints must not look like an answer
    names = ("sacroml", "adversarial-robustness-toolbox", "scikit-learn", "torch")
    print(json.dumps({name: version(name) for name in names}), file=out, flush=True)
    for line in sys.stdin:
        try:
            reply = measured(json.loads(line))
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"}
        print(json.dumps(reply), file=out, flush=True)


if __name__ == "__main__":
    main()
