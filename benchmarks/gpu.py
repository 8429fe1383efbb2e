"""How fast are trainings on a GPU? `python benchmarks/gpu.py [--json FILE]`. Needs torch, and CUDA.

Noisy gradients: 600 inputs, 128 units inside, 100 classes, and 4,096 people expected in a step. Contenders train on the
same rows, which lie on the device, in alternating rounds; the middle round of each counts.

    privet    what `pv.learn` does with device="cuda": coins of the processor, words of the keystream that are sent to
              the device, gradients, clipping, noise and Adam there in 53 bits. As a graph, and compiled before that
    plain     no privacy: autograd and fused Adam, or a backward pass by hand; step by step, captured as a graph, and
              compiled before that. In TF32, "doubles" in 53 bits
    opacus    batches of fixed size (so no time for sampling), with hooks and with ghost clipping

`whole` is the time of `cuda.trained_on` from rows to weights. Before each training, a step is compared with
`privet.learn.descent`.

Shadow models: 256 networks of the same sizes, 1,953 steps of 256 records each, by `Stacked(device="cuda")`, from rows
to weights: the first call, which compiles, and later ones. One network alone the same way, and as torch users write it.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import math
import platform
import pstats
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import numpy as np
from gpu_step import RATE, SIZES, TOGETHER, Step, Task, captured, file_of, learner, opacus, plain, plain_by_hand, privet

GOALS = {"of_plain": 0.7, "times_opacus": 2.5, "shadow_seconds": 2}
Found = TypeVar("Found")
MOST_SECONDS = 120  # for what can fail by itself


def seconds_of(torch: Any, device: str, steps: Step, seconds: float) -> float:
    """Of one call of `steps`: repeated for so long, the device waited for."""

    def wait() -> None:
        if device != "cpu":
            torch.cuda.synchronize()

    wait()
    start, count = time.perf_counter(), 0
    while count < 2 or time.perf_counter() - start < seconds:
        for _ in range(4 if device != "cpu" else 1):
            steps()
            count += 1
        wait()
    return (time.perf_counter() - start) / count


def contenders(task: Task) -> dict[str, Callable[[], Step]]:
    found: dict[str, Callable[[], Step]] = {
        "privet, graph": lambda: privet(task, compiled=False),
        "plain": lambda: plain(task, compiled=False),
        "plain by hand": lambda: plain_by_hand(task, compiled=False),
        "opacus, hooks": lambda: opacus(task, ghost=False),
        "opacus, ghost": lambda: opacus(task, ghost=True),
    }
    if task.device != "cpu":
        torch = task.torch
        found |= {
            "privet compiled, graph": lambda: privet(task, compiled=True),
            "plain, graph": lambda: captured(torch, plain(task, compiled=False)),
            "plain compiled, graph": lambda: captured(torch, plain(task, compiled=True)),
            "plain by hand compiled, graph": lambda: captured(torch, plain_by_hand(task, compiled=True)),
            "plain by hand compiled, graph, doubles": lambda: captured(
                torch, plain_by_hand(task, compiled=True, doubles=True)
            ),
        }
    return found


class Report:
    """What was found so far, on disk after each part: one that fails takes no other with it."""

    def __init__(self, result: dict[str, Any], path: Path | None) -> None:
        self.result, self.path = result, path
        self.absent: dict[str, str] = {}

    def part(self, name: str, work: Callable[[], Found]) -> Found | None:
        def late(*_: object) -> None:
            raise TimeoutError(f"more than {MOST_SECONDS} seconds")

        signal.signal(signal.SIGALRM, late)
        signal.alarm(MOST_SECONDS)
        start = time.perf_counter()
        try:
            return work()
        except Exception as error:
            traceback.print_exc()
            self.absent[name] = f"{type(error).__name__}: {str(error)[:300]}"
            return None
        finally:
            signal.alarm(0)
            told = self.absent.get(name, "ran")
            print(f"{name}: {told}, {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)

    def save(self, **more: Any) -> None:
        self.result |= more | {"absent": self.absent}
        body = json.dumps({"privet": 1, "kind": "gpu", "result": self.result}, indent=1)
        if self.path is not None:
            self.path.write_text(body + "\n", encoding="utf-8")


def descents(task: Task, report: Report, rounds: int, seconds: float) -> None:
    """Samples per second of each contender."""
    found: dict[str, Step] = {}
    for name, make in contenders(task).items():

        def warm(make: Callable[[], Step] = make) -> Step:
            steps = make()
            seconds_of(task.torch, task.device, steps, 0)
            return steps

        steps = report.part(name, warm)
        if steps is not None:
            found[name] = steps
    times: dict[str, list[float]] = {name: [] for name in found}
    for _ in range(rounds):
        for name, steps in list(found.items()):
            took = report.part(name, lambda steps=steps: seconds_of(task.torch, task.device, steps, seconds))
            if took is None:
                del found[name]
            else:
                times[name].append(took)
    each = TOGETHER * task.batch
    speeds = {name: each / median(one) for name, one in times.items() if one}
    report.save(
        **ratios(speeds),
        samples_per_second={name: round(speed) for name, speed in speeds.items()},
        slowest_and_fastest_round={
            name: [round(each / max(t)), round(each / min(t))] for name, t in times.items() if t
        },
    )


def ratios(speeds: dict[str, float]) -> dict[str, Any]:
    """The product over others."""
    ours = max((speed for name, speed in speeds.items() if name.startswith("privet")), default=None)

    def over(*names: str) -> float | None:
        speed = max((speeds[name] for name in speeds if name in names), default=None)
        return round(ours / speed, 3) if ours and speed else None

    return {
        "of_plain": over("plain"),
        "of_plain_by_hand": over("plain by hand"),
        "of_plain_graph": over("plain, graph", "plain compiled, graph"),
        "of_plain_by_hand_graph": over("plain by hand compiled, graph"),
        "of_plain_in_doubles_graph": over("plain by hand compiled, graph, doubles"),
        "times_opacus": over("opacus, hooks", "opacus, ghost"),
        "goals": GOALS,
    }


def whole(task: Task, steps: int) -> dict[str, float]:
    """From rows to weights, as `MLPClassifier(device="cuda")` trains."""
    from privet.noise.floats import FloatNoise  # noqa: PLC0415

    cuda, network = learner("cuda"), learner("network")
    cuda.DEVICE = task.device
    units, recipe = task.units(), task.recipe(steps)
    start = time.perf_counter()
    layers = cuda.trained_on(task.torch, units, recipe, FloatNoise())
    took = time.perf_counter() - start
    right = network.scores(layers, units.rows[:5000], recipe.kind).argmax(1) == units.targets[:5000]
    return {"steps": steps, "seconds": round(took, 2), "samples_per_second": round(steps * task.batch / took),
            "accuracy": float(right.mean())}  # fmt: skip


def draws_per_second(task: Task) -> dict[str, float]:
    """Seconds that the processor needs for the draws of a step, by threads; the device does nothing."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    from privet.noise.floats import FloatNoise  # noqa: PLC0415

    units, found = len(task.rows), {}
    for threads in (1, 4, 8):
        hands = [FloatNoise().apart(hand) for hand in range(threads)]

        def draw(hand: int, hands: list[Any] = hands) -> None:
            words = np.empty(sum((one + 1) * other for one, other in pairwise(SIZES)), np.uint64)
            for _ in range(50):
                hands[hand].words(words)
                np.flatnonzero(hands[hand].coins(task.coin, units))

        with ThreadPoolExecutor(threads) as pool:
            start = time.perf_counter()
            list(pool.map(draw, range(threads)))
            found[f"{threads} threads"] = (time.perf_counter() - start) / 50 / threads
    return found


def shadows(torch: Any, device: str, models: int, report: Report, tiny: bool) -> None:
    """`models` networks: seconds of the calls, and of one network alone."""
    stacked, stacked_torch = (file_of("attacks.models", name) for name in ("stacked", "stacked_torch"))
    stacked_torch.DEVICE, stacked.torch_with_cuda = device, lambda: torch  # --tiny has no GPU
    batches, epochs = (2, 1) if tiny else (217, 9)  # 1,953 steps of 256
    people, draw = 256 * batches, np.random.default_rng(0)
    rows = (draw.random((2 * people, SIZES[0]), dtype=np.float32) < 0.3).astype(np.float32)
    labels = ((rows - 0.3) @ draw.normal(size=(SIZES[0], SIZES[-1]))).argmax(1)
    chosen = [np.random.default_rng(seed).permutation(2 * people)[:people] for seed in range(models)]
    how = stacked.Stacked(hidden=SIZES[1:-1], epochs=epochs, batch=256, rate=RATE, tol=-math.inf, device="cuda")
    told: dict[str, Any] = {"models": models, "steps": batches * epochs, "batch": 256}

    def profiled(many: int) -> float:
        with cProfile.Profile() as profile:
            took = fit(many)
        pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(12)
        return took

    def fit(many: int) -> float:
        start = time.perf_counter()
        found = how.fit_many(rows, labels, chosen[:many], list(range(many)))
        took = time.perf_counter() - start
        inside, outside = chosen[0], np.setdiff1d(np.arange(2 * people), chosen[0])
        for name, places in (("inside", inside), ("outside", outside)):
            told[f"accuracy {name}"] = float((found[0].predict(rows[places]) == labels[places]).mean())
        return took

    calls = {"first call": models, "second call": models, "third call": models, "one model": 1, "one model again": 1}
    for name, many in calls.items():
        told[name] = report.part(f"shadows, {name}", lambda many=many: fit(many))
        report.save(shadows=told)
    report.part("shadows, profiled", lambda: profiled(models))
    told["one model, as torch users write it"] = report.part(
        "shadows, torch", lambda: alone(torch, device, rows[chosen[0]], labels[chosen[0]], batches * epochs)
    )
    report.save(shadows=told)


def alone(torch: Any, device: str, rows: Any, labels: Any, steps: int) -> float:
    """Seconds of one network, with autograd and fused Adam, step by step."""
    task = Task(torch, device, torch.from_numpy(rows).to(device), torch.from_numpy(labels).to(device), 256)
    step = plain(task, compiled=False)
    step()
    return seconds_of(torch, device, step, 1.0) * steps / TOGETHER


def facts(torch: Any, device: str, commit: str) -> dict[str, Any]:
    """Date, machine, versions, commit."""
    try:
        from opacus import __version__ as opacus_version  # noqa: PLC0415
    except ImportError:
        opacus_version = None
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": torch.cuda.get_device_name(0) if device != "cpu" else platform.processor() or "cpu",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "opacus": opacus_version,
        "commit": commit,
    }


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result to FILE")
    parser.add_argument("--commit", default="", help="which commit is measured, for the file")
    parser.add_argument("--units", type=int, default=200_000)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--seconds", type=float, default=0.7, help="of one round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--models", type=int, default=256)
    parser.add_argument("--tiny", action="store_true", help="test this script: smallest sizes, any device")
    read = parser.parse_args(given)
    try:
        import torch  # noqa: PLC0415
    except ImportError:
        sys.exit("torch is not installed: nothing was measured")
    warnings.filterwarnings("ignore", message="Full backward hook")  # of opacus: the rows need no gradients
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and not read.tiny:
        sys.exit("no CUDA device: nothing was measured (--tiny tests the script without one)")
    lengths = (500, 30_000)  # the longer one compiles
    if read.tiny:
        read.units, read.batch, read.seconds, read.rounds, read.models, lengths = 2000, 128, 0.05, 1, 2, (20,)
    torch.set_float32_matmul_precision("high")  # TF32, for every contender
    task = Task.of(torch, device, read.units, read.batch)
    given_task = {"sizes": SIZES, **{name: vars(read)[name] for name in ("units", "batch", "rounds", "seconds")}}
    report = Report(facts(torch, device, read.commit) | ({"tiny": True} if read.tiny else {}), read.json)
    report.save(task=given_task)
    shadows(torch, device, read.models, report, read.tiny)
    descents(task, report, read.rounds, read.seconds)
    report.save(
        whole=[report.part(f"whole, {steps} steps", lambda steps=steps: whole(task, steps)) for steps in lengths]
    )
    report.save(draws=report.part("draws", lambda: draws_per_second(task)))
    print(json.dumps(report.result, indent=1))


if __name__ == "__main__":
    main()
