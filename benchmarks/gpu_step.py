"""Steps of training in torch that gpu.py times: those of the product, plain ones, and those of Opacus."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))
SIZES = (600, 128, 100)
CLIP, NOISE, RATE = 1.0, 1.0, 1e-3
TOGETHER = 16  # steps of one call
Step = Callable[[], None]  # TOGETHER steps of training


def file_of(room: str, name: str) -> Any:
    """A file of a room whose front page needs more than a machine with a GPU may have."""
    parts = room.split(".")
    for end in range(1, len(parts) + 1):
        full = ".".join(["privet", *parts[:end]])
        if full not in sys.modules:
            sys.modules[full] = types.ModuleType(full)
            sys.modules[full].__path__ = [str(ROOT.joinpath("src", "privet", *parts[:end]))]
    return importlib.import_module(f"privet.{room}.{name}")


def learner(name: str) -> Any:
    return file_of("learn", name)


@dataclass
class Task:
    """Rows on the device, and the sizes."""

    torch: Any
    device: str
    rows: Any
    targets: Any
    batch: int

    @classmethod
    def of(cls, torch: Any, device: str, units: int, batch: int) -> Task:
        generator = torch.Generator(device).manual_seed(1)
        rows = (torch.rand((units, SIZES[0]), generator=generator, device=device) < 0.3).to(torch.float32)
        teacher = torch.randn((SIZES[0], SIZES[-1]), generator=generator, device=device)
        return cls(torch, device, rows, ((rows - 0.3) @ teacher).argmax(1), batch)

    @property
    def coin(self) -> int:
        return self.batch * (1 << 32) // len(self.rows)

    def units(self) -> Any:
        arrays = (one.cpu().double().numpy() for one in (self.rows, self.targets))
        return learner("descent").Units.of(*arrays, None)

    def recipe(self, steps: int) -> Any:
        from privet.core.unit import Neighbors  # noqa: PLC0415

        schedule = learner("schedule").Schedule(
            coin=self.coin, steps=steps, noise=Fraction(NOISE), neighbors=Neighbors.ADD_REMOVE
        )
        kind = learner("network").Kind(activation="relu", classes=SIZES[-1])
        return learner("descent").Recipe(schedule=schedule, kind=kind, sizes=SIZES, clip=CLIP, rate=RATE)


def privet(task: Task, compiled: bool) -> Step:
    """What device="cuda" does, with the draws of the processor and their way to the device."""
    from privet.noise.floats import FloatNoise  # noqa: PLC0415

    descent, cuda, draws = learner("descent"), learner("cuda"), FloatNoise()
    cuda.DEVICE = task.device
    training = cuda.Training(task.torch, len(task.rows), task.recipe(10**6), compiled)
    training.compare(draws)
    training.begin(task.units(), descent.beginning(SIZES, draws))
    return lambda: training.run(TOGETHER, draws)


def model(task: Task) -> Any:
    """As torch users write it."""
    nn = task.torch.nn
    return nn.Sequential(nn.Linear(*SIZES[:2]), nn.ReLU(), nn.Linear(*SIZES[1:])).to(task.device)


def plain(task: Task, compiled: bool) -> Step:
    """No privacy: autograd and the optimizer of torch, in TF32."""
    torch, network, on_device = task.torch, model(task), task.device != "cpu"
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE, fused=on_device, capturable=on_device)
    loss = torch.nn.CrossEntropyLoss()
    forward = torch.compile(lambda rows, targets: loss(network(rows), targets)) if compiled else None

    def steps() -> None:
        for one in torch.randint(len(task.rows), (TOGETHER, task.batch), device=task.device):
            optimizer.zero_grad()
            rows, targets = task.rows[one], task.targets[one]
            (forward(rows, targets) if forward else loss(network(rows), targets)).backward()
            optimizer.step()

    return steps


def plain_by_hand(task: Task, compiled: bool, doubles: bool = False) -> Step:
    """No privacy: a backward pass by hand and Adam on one vector, in TF32 or in 53 bits."""
    torch = task.torch
    kind = torch.float64 if doubles else torch.float32
    shapes = [(one + 1, other) for one, other in pairwise(SIZES)]
    flat = torch.randn(sum(one * other for one, other in shapes), device=task.device, dtype=kind) / 20
    moments, count = (torch.zeros_like(flat), torch.zeros_like(flat)), torch.zeros((), device=task.device, dtype=kind)
    everybody, classes = task.rows.to(kind), torch.arange(SIZES[-1], device=task.device)

    def step(index: Any) -> None:
        rows, border = everybody[index], shapes[0][0] * shapes[0][1]
        first, last = flat[:border].view(shapes[0]), flat[border:].view(shapes[1])
        inside = torch.relu(torch.addmm(first[-1], rows, first[:-1]))
        out = torch.softmax(torch.addmm(last[-1], inside, last[:-1]), 1)
        out = (out - (task.targets[index][:, None] == classes).to(kind)) / task.batch
        below = (out @ last[:-1].T) * (inside > 0)
        parts = [(rows.T @ below).reshape(-1), below.sum(0), (inside.T @ out).reshape(-1), out.sum(0)]
        gradient = torch.cat(parts)
        count.add_(1)
        moments[0].mul_(0.9).add_(gradient, alpha=0.1)
        moments[1].mul_(0.99).addcmul_(gradient, gradient, value=0.01)
        spread = torch.sqrt(moments[1] / (1 - 0.99**count)) + 1e-12
        flat.sub_(RATE * moments[0] / (1 - 0.9**count) / spread)

    chosen = torch.compile(step) if compiled else step

    def steps() -> None:
        for one in torch.randint(len(task.rows), (TOGETHER, task.batch), device=task.device):
            chosen(one)

    return steps


def opacus(task: Task, ghost: bool) -> Step:
    """Opacus, without its sampling."""
    torch, network = task.torch, model(task)
    from opacus import GradSampleModule  # noqa: PLC0415
    from opacus.grad_sample import GradSampleModuleFastGradientClipping  # noqa: PLC0415
    from opacus.optimizers import DPOptimizer  # noqa: PLC0415
    from opacus.optimizers.optimizer_fast_gradient_clipping import DPOptimizerFastGradientClipping  # noqa: PLC0415
    from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping  # noqa: PLC0415

    declared = {"noise_multiplier": NOISE, "max_grad_norm": CLIP, "expected_batch_size": task.batch}
    inner = torch.optim.Adam(network.parameters(), lr=RATE, fused=task.device != "cpu")
    loss: Any = torch.nn.CrossEntropyLoss()
    if ghost:
        network = GradSampleModuleFastGradientClipping(network, max_grad_norm=CLIP, use_ghost_clipping=True)
        optimizer: Any = DPOptimizerFastGradientClipping(inner, **declared)
        loss = DPLossFastGradientClipping(network, optimizer, loss)
    else:
        network = GradSampleModule(network)
        optimizer = DPOptimizer(inner, **declared)

    def steps() -> None:
        for one in torch.randint(len(task.rows), (TOGETHER, task.batch), device=task.device):
            optimizer.zero_grad()
            loss(network(task.rows[one]), task.targets[one]).backward()
            optimizer.step()

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
