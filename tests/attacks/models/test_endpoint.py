"""A model behind an address, on a real server of this machine that errs, slows down, dies and comes back."""

from __future__ import annotations

import json
import ssl
import threading
import urllib.error
from collections.abc import Callable, Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.refusals import raises_code

import privet as pv
from privet.attacks import Asking, Endpoint, attack_model
from privet.attacks.models import endpoint as module
from privet.attacks.models import outputs as asking_module
from privet.attacks.models.outputs import NoAnswerError, outputs
from privet.attacks.models.records import Records
from privet.errors import InvalidInputError

SECRET = "s3cr3t-token"
ROWS = np.array([[1.0, 2.0], [3.0, np.nan], [-5.0, 6.0]])
Reply = tuple[int, dict[str, str], bytes]


class Service:
    """Answers by the first column. What is planned for the next requests comes first: a reply, or what to do."""

    def __init__(self) -> None:
        self.plan: list[Any] = []
        self.requests: list[Any] = []
        self.headers: list[Any] = []
        self.paths: list[str] = []
        self.release = threading.Event()
        self.port = 0
        self.start()

    def start(self) -> None:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                service.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                service.headers.append(dict(self.headers))
                service.paths.append(self.path)
                planned = service.plan.pop(0) if service.plan else usual
                status, headers, body = planned(service.requests[-1]) if callable(planned) else planned
                if not status:
                    return  # hangs up
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.005})
        self.thread.start()

    def stop(self) -> None:
        self.release.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def url(self, path: str = "/predict") -> str:
        return f"http://127.0.0.1:{self.port}{path}"


def reply(body: Any, status: int = 200, **headers: str) -> Reply:
    return status, headers, body if isinstance(body, bytes) else json.dumps(body).encode()


def usual(request: Any) -> Reply:
    chances = [1 / (1 + np.exp(-(row[0] or 0))) for row in request["instances"]]
    return reply({"predictions": [[1 - chance, chance] for chance in chances]})


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    yield made
    made.stop()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Pauses take no time; `paused` has their lengths."""
    made = SimpleNamespace(now=1000.0, paused=[])

    def sleep(seconds: float) -> None:
        made.paused.append(seconds)
        made.now += seconds

    told = SimpleNamespace(monotonic=lambda: made.now, sleep=sleep, time=lambda: 1.7e9)
    monkeypatch.setattr(module, "time", told)
    monkeypatch.setattr(asking_module, "time", told)
    return made


def asked(model: Any, asking: Asking, people: int = 25) -> Any:
    rows = np.linspace(-1, 1, people)[:, None]
    return outputs(model, Records(rows, np.arange(people) % 2), np.array([0, 1]), None, asking)[0].odds


def test_rows_go_out_and_answers_come_back(service: Service) -> None:
    found = Endpoint(service.url(), headers={"Authorization": SECRET})(ROWS)
    assert found == pytest.approx(np.column_stack([1 - found[:, 1], 1 / (1 + np.exp(-ROWS[:, 0]))]))
    assert service.requests == [{"instances": [[1.0, 2.0], [3.0, None], [-5.0, 6.0]]}]
    assert service.headers[0]["Authorization"] == SECRET
    assert service.headers[0]["Content-Type"] == "application/json"
    assert service.headers[0]["User-Agent"] == "privet"


def test_fields_have_the_names_that_the_service_wants(service: Service) -> None:
    service.plan = [
        reply({"outputs": [{"class": "no", "p": [0.9, 0.1]}, {"class": "yes", "p": [0.2, None]}]}),
        reply({"outputs": [{"class": "no"}, {"class": "yes"}]}),
        reply([0, 1]),
        reply({"a": {"b": [[[1, 2]], [[3, 4]]]}}),
    ]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"n": [1, None], "t": pandas.Categorical(["x", None]), "d": pandas.to_datetime(["2020", None])}
    )
    texts = frame[["n", "t"]].rename(columns={"n": "age"})
    of = Endpoint(service.url(), rows="rows", answer="outputs.p", columns=("age", "job"), more={"model": 2})
    assert of(texts) == pytest.approx(np.array([[0.9, 0.1], [0.2, np.nan]]), nan_ok=True)
    assert service.requests[0] == {"model": 2, "rows": [{"age": 1.0, "job": "x"}, {"age": None, "job": None}]}
    assert Endpoint(service.url(), answer="outputs.class")(ROWS[:2]).tolist() == ["no", "yes"]
    assert Endpoint(service.url(), rows="", answer="")(ROWS[:1]).tolist() == [0, 1]
    assert service.requests[2] == [[1.0, 2.0]]
    assert Endpoint(service.url(), answer="a.b.1")(ROWS).tolist() == [[3, 4]]
    with raises_code(InvalidInputError, "wrong-length"):
        of(ROWS[:, :1])
    with raises_code(InvalidInputError, "wrong-type"):
        of(frame[["n", "d"]])
    with raises_code(InvalidInputError, "wrong-type"):
        Endpoint(service.url())(np.array([[np.inf]]))
    Endpoint(service.url())(np.array([[np.float32(0.5), np.int64(2)]], object))
    assert service.requests[-1] == {"instances": [[0.5, 2]]}


def test_requests_start_at_a_steady_rate(service: Service, clock: Any) -> None:
    model = Endpoint(service.url(), per_second=4)
    asked(model, Asking(batch=10))
    assert clock.paused == [0.25, 0.25]
    clock.now += 100
    asked(model, Asking(batch=10))
    assert clock.paused == [0.25] * 4  # nothing is caught up on


@pytest.mark.parametrize(
    ("later", "waits"),
    [("7", [1.0, 6.0]), (formatdate(1.7e9 + 60, usegmt=True), [1.0, 59.0]), ("soon", [1.0]), ("0", [1.0])],
)
@pytest.mark.parametrize("status", [429, 503])
def test_a_service_that_asks_to_wait_is_given_the_time(
    service: Service, clock: Any, status: int, later: str, waits: list[float]
) -> None:
    service.plan = [usual, reply("slow down", status, **{"Retry-After": later})]
    asking = Asking(batch=10)
    asked(Endpoint(service.url()), asking)
    assert clock.paused == pytest.approx(waits)
    assert (asking.asked, asking.failed) == (35, 1)


def test_a_service_that_asks_to_wait_for_hours_ends_the_attack(service: Service, clock: Any, tmp_path: Path) -> None:
    service.plan = [usual, reply("", 429, **{"Retry-After": "7200"})]
    with raises_code(InvalidInputError, "endpoint-refuses: 7,200 s"):
        asked(Endpoint(service.url()), Asking(batch=10, kept=tmp_path))
    assert clock.paused == []
    sent = len(service.requests)
    asked(Endpoint(service.url()), Asking(batch=10, kept=tmp_path))
    assert len(service.requests) == sent + 1 + 2  # kept answers are compared, and the rest is asked


def late(service: Service) -> Callable[[Any], Reply]:
    def answer(request: Any) -> Reply:
        service.release.wait(5)
        return usual(request)

    return answer


@pytest.mark.parametrize(
    ("planned", "words"),
    [
        (reply("x", 500), "HTTP 500"),
        (reply("x", 408), "HTTP 408"),
        (reply(b"<html>Nora Vogel"), "not JSON"),
        (reply(b"[" * 100_000), "not JSON"),
        (reply({"answers": [0.5] * 10}), "no numbers or classes under 'predictions'"),
        (reply({"predictions": {"Nora": 1}}), "no numbers or classes"),
        (reply({"predictions": [[1, 2], [3]]}), "no numbers or classes"),
        (reply({"predictions": 3}), "no numbers or classes"),
        (reply({"predictions": [0.5] * 9}), "answers of shape (9,)"),
        ((0, {}, b""), "no connection"),
        ((200, {"Content-Length": "99"}, b"[1, "), "not JSON"),
    ],
)  # fmt: skip
def test_answers_that_cannot_be_used_are_asked_for_again(
    service: Service, clock: Any, planned: Any, words: str
) -> None:
    asking = Asking(batch=10)
    service.plan = [planned, usual, planned, planned]
    expected = asked(lambda rows: 1 / (1 + np.exp(-rows[:, 0])), Asking())
    assert asked(Endpoint(service.url()), asking) == pytest.approx(expected)
    assert (asking.asked, asking.failed, clock.paused) == (25 + 30, 3, [1.0, 1.0, 2.0])
    service.plan = [planned] * 4
    with raises_code(InvalidInputError, "code-fails: 4 times") as caught:
        asked(Endpoint(service.url(), headers={"Authorization": SECRET}), Asking(batch=10))
    assert words in str(caught.value)
    assert "Nora" not in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.usefixtures("clock")
def test_a_slow_service_is_not_waited_for(service: Service) -> None:
    service.plan = [late(service)]
    with pytest.raises(NoAnswerError, match="no answer within"):
        Endpoint(service.url(), timeout=0.05)(ROWS)
    service.release.set()


def test_bytes_that_trickle_are_a_slow_service_too(
    service: Service, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PIECE", 3)
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock.ticks))
    clock.ticks = iter(range(0, 10**6, 9))
    with pytest.raises(NoAnswerError, match="no answer within 20 s"):
        Endpoint(service.url(), timeout=20)(ROWS)
    clock.ticks = iter(range(10**6))
    monkeypatch.setattr(module, "LARGEST", 5)
    with pytest.raises(NoAnswerError, match="MB"):
        Endpoint(service.url())(ROWS)


def test_a_service_that_dies_and_comes_back(service: Service, clock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model, asking = Endpoint(service.url()), Asking(batch=10)
    before = module.time.sleep

    def revive(seconds: float) -> None:
        if len(clock.paused) == 1:
            service.start()
        before(seconds)

    def dies(request: Any) -> Reply:
        threading.Thread(target=service.server.shutdown).start()
        return usual(request)

    monkeypatch.setattr(asking_module.time, "sleep", revive)
    service.plan = [dies]
    first = Endpoint(service.url())(ROWS)
    service.thread.join()
    service.server.server_close()
    found = asked(model, asking)
    assert len(first) == 3
    assert clock.paused == [1.0, 2.0]
    assert asking.failed == 2
    assert found == pytest.approx(asked(lambda rows: 1 / (1 + np.exp(-rows[:, 0])), Asking()))


def test_nothing_is_lost_where_it_does_not_come_back(service: Service, clock: Any, tmp_path: Path) -> None:
    service.plan = [usual, usual, *[reply("", 502)] * 4]
    with raises_code(InvalidInputError, "code-fails: HTTP 502"):
        asked(Endpoint(service.url()), Asking(batch=10, kept=tmp_path))
    sent = sum(len(one["instances"]) for one in service.requests)
    asked(Endpoint(service.url()), Asking(batch=10, kept=tmp_path))
    assert sum(len(one["instances"]) for one in service.requests) == sent + 10 + 5  # the first batch is compared
    assert len(clock.paused) == 3


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "credentials"),
        (403, "allow"),
        (404, "path"),
        (405, "POST"),
        (413, "batch"),
        (400, "fields"),
        (422, "form"),
    ],
)
def test_a_refused_request_is_not_sent_again(service: Service, clock: Any, status: int, words: str) -> None:
    service.plan = [reply("Nora Vogel is unknown", status)]
    with raises_code(InvalidInputError, f"endpoint-refuses: HTTP {status}") as caught:
        asked(Endpoint(service.url("/predict?key=abc")), Asking())
    assert words in caught.value.remedy
    assert not any(word in str(caught.value) for word in ("Nora", "abc"))
    assert len(service.requests) == 1
    assert clock.paused == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(service: Service, status: int) -> None:
    other = Service()
    try:
        for place in (other.url(), service.url("/elsewhere")):
            service.plan = [reply("", status, Location=place)]
            with raises_code(InvalidInputError, "endpoint-refuses: redirect"):
                asked(Endpoint(service.url(), headers={"Authorization": SECRET}), Asking())
        assert other.requests == []
        assert service.paths == ["/predict"] * 2
    finally:
        other.stop()


def test_this_machine_is_not_asked_through_another_one(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = Service()
    try:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("no_proxy", raising=False)
        assert len(Endpoint(service.url())(ROWS)) == 3
        assert proxy.requests == []
    finally:
        proxy.stop()


def test_a_certificate_that_nobody_trusts(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise urllib.error.URLError(ssl.SSLCertVerificationError())

    monkeypatch.setattr(module.urllib.request.OpenerDirector, "open", refuse)
    with raises_code(InvalidInputError, "endpoint-refuses: certificate"):
        Endpoint("https://models.example/predict")(ROWS)

    def slow(*_: Any, **__: Any) -> None:
        raise urllib.error.URLError(TimeoutError())

    monkeypatch.setattr(module.urllib.request.OpenerDirector, "open", slow)
    with pytest.raises(NoAnswerError, match="within 30 s"):
        Endpoint("https://models.example/predict")(ROWS)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://models.example/predict", "unsafe-address"),
        ("http://10.0.0.1:80/", "unsafe-address"),
        ("https://user:s3cr3t-token@models.example/", "unsafe-address"),
        ("ftp://127.0.0.1/", "syntax-error"),
        ("file:///etc/passwd", "syntax-error"),
        ("https:///predict", "syntax-error"),
        ("http://127.0.0.1:99999/", "syntax-error"),
        ("http://127.0.0.1/a b", "syntax-error"),
        ("http://127.0.0.1/\r\nHost: x", "syntax-error"),
        (3, "syntax-error"),
    ],
)
def test_addresses_that_are_refused(url: Any, code: str) -> None:
    with raises_code(InvalidInputError, code) as caught:
        Endpoint(url)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"headers": {"A": f"{SECRET}\r\nB: c"}}, "invalid-name"),
        ({"headers": {"A b": SECRET}}, "invalid-name"),
        ({"headers": {"A": 3}}, "invalid-name"),
        ({"per_second": 0}, "not-positive"),
        ({"timeout": -1}, "not-positive"),
        ({"per_second": float("nan")}, "not-positive"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], code: str) -> None:
    with raises_code(InvalidInputError, code) as caught:
        Endpoint("http://[::1]:8000/", **options)
    assert SECRET not in str(caught.value)


def test_secrets_are_not_shown() -> None:
    shown = repr(Endpoint(f"https://models.example/?key={SECRET}", headers={"A": SECRET}, more={"key": SECRET}))
    assert "models.example" in shown
    assert SECRET not in shown


def test_an_attack_on_a_service(service: Service, clock: Any) -> None:
    draw = np.random.default_rng(0)
    rows, labels = draw.normal(size=(80, 2)), np.arange(80) % 2
    service.plan = [usual, reply("", 503), usual]
    told: list[tuple[str, int, int]] = []
    found = attack_model(
        Endpoint(service.url(), per_second=2), (rows[:40], labels[:40]), (rows[40:], labels[40:]),
        shadows=0, asking=Asking(batch=40), progress=lambda *one: told.append(one),
    )  # fmt: skip
    assert found.numbers["answers"] == "probabilities"
    assert (found.numbers["rows_asked"], found.numbers["calls_failed"]) == (120, 1)
    assert ("asking the model", 1, 2) in told
    assert clock.paused == [0.5, 1.0]


def test_it_is_public() -> None:
    assert pv.attacks.Endpoint is Endpoint
