"""How fast is training by noisy gradients on a GPU? `python benchmarks/gpu.py [--json FILE]`. Needs torch, and CUDA.

600 inputs, 128 units inside, 100 classes, and 4,096 people expected in a step. Contenders train on the same rows, which
lie on the device, in alternating rounds; the middle round of each counts.

    plain     no privacy: autograd and fused Adam, or our own backward pass without clipping ("by hand"); the faster
              one is what we compare with
    privet    the step of `privet.learn.descent` in torch: a coin for every unit, clipping by rank-1 norms without any
              gradient of one row, normal numbers of 53 bits; coins and noise from ChaCha20 under a key of the
              operating system ("privet"), or from torch's own generator ("privet, generator of torch")
    opacus    batches of fixed size (so no time for sampling), with hooks and with ghost clipping
    estimator what `pv.learn` does with device="cuda": a slower and plainer way, with noise from the processor

Each is run step by step, and (all but the last two) compiled and captured as a CUDA graph. Ratios are those of the
method and not of the estimator. Before it measures, the script compares both with `privet.learn.network`, its words
with another implementation, and the number of people taken with the declared rate.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

from gpu_step import (
    CLIP,
    NOISE,
    RATE,
    SIZES,
    Stream,
    Task,
    Weights,
    adam,
    chacha,
    checks,
    definition,
    gradient,
    normals,
)

GOALS = {"of_plain": 0.7, "times_opacus": 2.5}
TOGETHER = 16  # steps whose coins are drawn together; they are one graph
Step = Callable[[], None]  # TOGETHER steps of training


def privet(task: Task, compiled: bool, cipher: bool) -> Step:
    """TOGETHER steps of DP-SGD."""
    torch, weights = task.torch, Weights(task)
    stream, units, room = Stream(torch, task.device, cipher), len(task.rows), task.capacity
    border, places = task.coin - (1 << 31), torch.arange(1, room + 1, dtype=torch.int32, device=task.device)
    coins = -(-units // 16) * 16

    def taken(words: Any) -> Any:
        return (words.view(TOGETHER, coins)[:, :units] < border).cumsum(1, dtype=torch.int32)

    def step(sums: Any, found: Any, words: Any) -> None:
        kept = (places <= sums[-1]).to(torch.float32)
        index = torch.clamp(found, max=units - 1)
        rows, lengths, targets = task.rows[index], task.lengths[index], task.targets[index]
        total = gradient(torch, weights.layers, (rows, lengths, targets, kept), CLIP)
        noise = normals(torch, words)
        total = torch.nn.functional.pad(total, (0, weights.padded - weights.size)) + CLIP * NOISE * noise
        adam(torch, weights, total / task.batch)

    if compiled:
        taken, step = torch.compile(taken), torch.compile(step)
        if stream.blocks is chacha:
            stream.blocks = torch.compile(chacha)

    def steps() -> None:
        sums = taken(stream.words(TOGETHER * coins))
        found = torch.searchsorted(sums, places.expand(TOGETHER, room).contiguous())
        words = stream.words(TOGETHER * 2 * weights.padded).view(TOGETHER, 2 * weights.padded)
        for one in range(TOGETHER):
            step(sums[one], found[one], words[one])

    return steps


def network(task: Task) -> Any:
    """As torch users write it."""
    nn = task.torch.nn
    return nn.Sequential(nn.Linear(*SIZES[:2]), nn.ReLU(), nn.Linear(*SIZES[1:])).to(task.device)


def plain(task: Task, compiled: bool) -> Step:
    """No privacy: autograd and the optimizer of torch."""
    torch = task.torch
    model = torch.nn.Sequential(torch.nn.Linear(*SIZES[:2]), torch.nn.ReLU(), torch.nn.Linear(*SIZES[1:])).to(
        task.device
    )
    on_device = task.device != "cpu"
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, fused=on_device, capturable=on_device)
    loss = torch.nn.CrossEntropyLoss()
    forward = torch.compile(lambda rows, targets: loss(model(rows), targets)) if compiled else None

    def steps() -> None:
        index = torch.randint(len(task.rows), (TOGETHER, task.batch), device=task.device)
        for one in index:
            optimizer.zero_grad()
            rows, targets = task.rows[one], task.targets[one]
            (forward(rows, targets) if forward else loss(model(rows), targets)).backward()
            optimizer.step()

    return steps


def plain_by_hand(task: Task, compiled: bool) -> Step:
    """No privacy: our own step without coins, clipping and noise."""
    torch, weights = task.torch, Weights(task)
    ones = torch.ones(task.batch, device=task.device)

    def step(index: Any) -> None:
        rows, lengths, targets = task.rows[index], task.lengths[index], task.targets[index]
        total = gradient(torch, weights.layers, (rows, lengths, targets, ones), None) / task.batch
        adam(torch, weights, torch.nn.functional.pad(total, (0, weights.padded - weights.size)))

    if compiled:
        step = torch.compile(step)

    def steps() -> None:
        for one in torch.randint(len(task.rows), (TOGETHER, task.batch), device=task.device):
            step(one)

    return steps


def opacus(task: Task, ghost: bool) -> Step:
    """Opacus, without its sampling."""
    torch = task.torch
    from opacus import GradSampleModule  # noqa: PLC0415
    from opacus.grad_sample import GradSampleModuleFastGradientClipping  # noqa: PLC0415
    from opacus.optimizers import DPOptimizer  # noqa: PLC0415
    from opacus.optimizers.optimizer_fast_gradient_clipping import DPOptimizerFastGradientClipping  # noqa: PLC0415
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping  # noqa: PLC0415

    model = torch.nn.Sequential(torch.nn.Linear(*SIZES[:2]), torch.nn.ReLU(), torch.nn.Linear(*SIZES[1:])).to(
        task.device
    )
    declared = {"noise_multiplier": NOISE, "max_grad_norm": CLIP, "expected_batch_size": task.batch}
    inner = torch.optim.Adam(model.parameters(), lr=RATE, fused=task.device != "cpu")
    loss: Any = torch.nn.CrossEntropyLoss()
    if ghost:
        model = GradSampleModuleFastGradientClipping(model, max_grad_norm=CLIP, use_ghost_clipping=True)
        optimizer: Any = DPOptimizerFastGradientClipping(inner, **declared)
        loss = DPLossFastGradientClipping(model, optimizer, loss)
    else:
        model = GradSampleModule(model)
        optimizer = DPOptimizer(inner, **declared)

    def steps() -> None:
        for one in torch.randint(len(task.rows), (TOGETHER, task.batch), device=task.device):
            optimizer.zero_grad()
            loss(model(task.rows[one]), task.targets[one]).backward()
            optimizer.step()

    return steps


def estimator(task: Task) -> Step:
    """As pv.learn.MLPClassifier(device="cuda"): sums on the device in 53 bits, noise and Adam on the processor."""
    network = definition()
    from privet.learn.cuda import OnDevice  # noqa: PLC0415
    from privet.learn.descent import Adam, Units, noisy_step  # noqa: PLC0415
    from privet.noise.floats import FloatNoise  # noqa: PLC0415

    units = Units.of(task.rows.cpu().double().numpy(), task.targets.cpu().double().numpy(), None)
    schedule = SimpleNamespace(coin=task.coin, noise=NOISE)
    kind = network.Kind(activation="relu", classes=SIZES[-1])
    recipe: Any = SimpleNamespace(schedule=schedule, kind=kind, clip=CLIP)
    layers = [layer.cpu().double().numpy() for layer in Weights(task).layers]
    adam, draws, summed = Adam.of(layers), FloatNoise(), OnDevice(task.torch, task.device)

    def steps() -> None:
        nonlocal layers
        for _ in range(TOGETHER):
            layers = adam.move(layers, noisy_step(layers, units, recipe, draws, summed), RATE)

    return steps


def captured(torch: Any, steps: Step) -> Step:
    """The same work as one CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            steps()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        steps()

    def again(_: Step = steps) -> None:  # the graph reads the memory of what `steps` holds
        graph.replay()

    return again


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


def contenders(task: Task, graphs: bool) -> tuple[dict[str, Step], dict[str, str]]:
    """What runs here, warmed up, and why others do not."""
    ways: dict[str, Callable[[], Step]] = {
        "plain": lambda: plain(task, compiled=False),
        "plain by hand": lambda: plain_by_hand(task, compiled=False),
        "privet": lambda: privet(task, compiled=False, cipher=True),
        "privet, generator of torch": lambda: privet(task, compiled=False, cipher=False),
        "estimator": lambda: estimator(task),
        "opacus, hooks": lambda: opacus(task, ghost=False),
        "opacus, ghost": lambda: opacus(task, ghost=True),
    }
    if graphs:
        torch = task.torch
        ways |= {
            "plain, graph": lambda: captured(torch, plain(task, compiled=False)),
            "plain compiled, graph": lambda: captured(torch, plain(task, compiled=True)),
            "plain by hand, graph": lambda: captured(torch, plain_by_hand(task, compiled=True)),
            "privet, graph": lambda: captured(torch, privet(task, compiled=False, cipher=True)),
            "privet compiled, graph": lambda: captured(torch, privet(task, compiled=True, cipher=True)),
            "privet, generator of torch, compiled, graph": lambda: captured(
                torch, privet(task, compiled=True, cipher=False)
            ),
        }
    found, absent = dict[str, Step](), dict[str, str]()
    for name, make in ways.items():
        try:
            found[name] = make()
            for _ in range(2):
                found[name]()
            if task.device != "cpu":
                task.torch.cuda.synchronize()
        except Exception as error:
            found.pop(name, None)
            absent[name] = f"{type(error).__name__}: {str(error)[:300]}"
        print(name, absent.get(name, "runs"), file=sys.stderr, flush=True)
    return found, absent


def ratios(speeds: dict[str, float]) -> dict[str, Any]:
    """Ours over the fastest of the others, each way by itself and the best of all."""

    def best(prefix: str, graph: bool | None = None) -> float | None:
        names = [name for name in speeds if name.startswith(prefix) and "generator" not in name]
        return max((speeds[name] for name in names if graph in (None, name.endswith("graph"))), default=None)

    def over(one: float | None, other: float | None) -> float | None:
        return round(one / other, 3) if one and other else None

    return {
        "of_plain": over(best("privet"), best("plain")),
        "of_plain_step_by_step": over(best("privet", False), best("plain", False)),
        "times_opacus": over(best("privet"), best("opacus")),
        "times_opacus_step_by_step": over(best("privet", False), best("opacus")),
        "goals": GOALS,
    }


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
    parser.add_argument("--seconds", type=float, default=1.0, help="of one round")
    parser.add_argument("--rounds", type=int, default=5)
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
    if read.tiny:
        read.units, read.batch, read.seconds, read.rounds = 2000, 128, 0.05, 1
    torch.backends.cuda.matmul.allow_tf32 = True  # for every contender
    torch.backends.cudnn.allow_tf32 = True
    task = Task.of(torch, device, read.units, read.batch)
    checked = checks(task)
    print(json.dumps(checked, indent=1), file=sys.stderr, flush=True)
    wrong = checked["words"] == "WRONG" or checked["largest_share_of_a_row"] > CLIP
    if wrong or abs(checked["taken_deviations"]) > 6 or checked["estimator_relative_error"] > 1e-9:
        sys.exit("the step is wrong: nothing was measured")
    found, absent = contenders(task, graphs=device != "cpu")
    times: dict[str, list[float]] = {name: [] for name in found}
    for _ in range(read.rounds):
        for name, steps in found.items():
            times[name].append(seconds_of(torch, device, steps, read.seconds))
    speeds = {name: TOGETHER * read.batch / median(one) for name, one in times.items()}
    spread = {name: [round(TOGETHER * read.batch / t) for t in (max(one), min(one))] for name, one in times.items()}
    result = facts(torch, device, read.commit) | ratios(speeds) | {
        "samples_per_second": {name: round(speed) for name, speed in speeds.items()},
        "slowest_and_fastest_round": spread,
        "absent": absent,
        "checks": checked,
        "task": {"sizes": SIZES, **{name: vars(read)[name] for name in ("units", "batch", "rounds", "seconds")}},
    }  # fmt: skip
    if read.tiny:
        result["tiny"] = True
    body = json.dumps({"privet": 1, "kind": "gpu", "result": result}, indent=1)
    print(body)
    if read.json is not None:
        read.json.write_text(body + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
