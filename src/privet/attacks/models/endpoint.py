"""A model behind an address: rows are sent as JSON by HTTP, at a steady rate, and answers come back.

A call that fails may be made again. What is wrong with a request itself, or with the address, is refused at once. No
text of an error holds rows, answers, headers, or more of the address than its host.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import math
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import SplitResult, urlsplit

import numpy as np
import numpy.typing as npt

from privet.attacks.models.outputs import NoAnswerError
from privet.core.rational import show
from privet.errors import InvalidInputError

LARGEST = 1 << 28  # bytes of an answer
PIECE = 1 << 16
LONGEST = 300.0  # seconds that a service may ask to wait; beyond that the attack ends, to go on later
AGAIN = {408, 425, 429}  # and all from 500 on: the same request may be answered later
NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
VALUE = re.compile(r"[\x20-\x7e]*")


@dataclass(slots=True)
class Endpoint:
    """A model behind an address, queried by HTTP. Give it to `attack_model` or `attack_attributes` as the model, or to
    `attack_versions` as a version. A call with rows returns their answers as an array.

    url: where rows are posted: an https address, or an http address of this machine.
    headers: sent with each request, for example {"Authorization": "Bearer " + os.environ["TOKEN"]}.
    per_second: the most requests per second, evenly spaced. timeout: seconds to wait for one answer.
    rows: the field of the request with the rows; "" if the request is the list of rows.
    answer: the field of the response with the answers, with dots between nested ones ("outputs.probabilities", which
        may also be a field of each answer in a list); "" if the response is the list of answers.
    columns: names of columns, if each row is sent as an object. more: further fields of the request.

    Raises InvalidInputError if the address, a header or a number cannot be used, and when called if the service refuses
    the request, or asks to wait for more than five minutes."""

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, kw_only=True)
    per_second: float | None = field(default=None, kw_only=True)
    timeout: float = field(default=30.0, kw_only=True)
    rows: str = field(default="instances", kw_only=True)
    answer: str = field(default="predictions", kw_only=True)
    columns: Sequence[str] | None = field(default=None, kw_only=True)
    more: Mapping[str, Any] = field(default_factory=dict, repr=False, kw_only=True)
    host: str = field(default="", init=False)
    next: float = field(default=-math.inf, init=False, repr=False)  # when the next request may be sent

    def __post_init__(self) -> None:
        parts = _address(self.url)
        self.host = str(parts.hostname)
        if parts.scheme == "http" and not _here(self.host):
            raise InvalidInputError(
                f"http would send records of people to {self.host} in the clear",
                "give an address with https, or one of this machine that forwards to it (ssh -L 8000:localhost:8000)",
                "unsafe-address",
            )
        for name, value in self.headers.items():
            if not (NAME.fullmatch(name) and isinstance(value, str) and VALUE.fullmatch(value)):
                raise InvalidInputError(
                    f"the header {show(name)} cannot be sent", "give a name and a line of plain text", "invalid-name"
                )
        for what, number in (("per_second", self.per_second), ("timeout", self.timeout)):
            if number is not None and not 0 < number < math.inf:
                raise InvalidInputError(f"{what} is {number}", "give a number above 0", "not-positive")

    def __call__(self, rows: Any) -> npt.NDArray[Any]:
        body = self._body(rows)
        self._wait()
        text = self._sent(body)
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            raise NoAnswerError("the answer is not JSON") from None
        try:
            return _array(_within(value, self.answer.split(".") if self.answer else []))
        except (KeyError, IndexError, TypeError, ValueError):
            where = f"under {show(self.answer)} in the response" if self.answer else "in the response"
            raise NoAnswerError(f"no numbers or classes {where}") from None

    def _wait(self) -> None:
        """Requests start at even distances; time that passed without one is not caught up on."""
        now = time.monotonic()
        if now < self.next:
            time.sleep(self.next - now)
        self.next = max(now, self.next) + (0.0 if self.per_second is None else 1 / self.per_second)

    def _body(self, rows: Any) -> bytes:
        table = _table(rows)
        if self.columns is not None:
            if table and len(table[0]) != len(self.columns):
                raise InvalidInputError(
                    f"there are {len(self.columns)} names for {len(table[0])} columns",
                    "name each column in columns=, in the order of X",
                    "wrong-length",
                )
            table = [dict(zip(self.columns, row, strict=True)) for row in table]
        try:
            return json.dumps({**self.more, self.rows: table} if self.rows else table, allow_nan=False).encode()
        except (TypeError, ValueError):
            raise InvalidInputError(
                "a value of X cannot be written as JSON", "use numbers, texts and missing values only", "wrong-type"
            ) from None

    def _sent(self, body: bytes) -> bytes:
        headers = {"User-Agent": "privet", "Accept": "application/json", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url, body, {**headers, **self.headers}, method="POST")  # noqa: S310  checked
        until = time.monotonic() + self.timeout
        try:
            with _opener(self.host).open(request, timeout=self.timeout) as response:
                return self._read(response, until)
        except urllib.error.HTTPError as error:
            with error:
                raise self._failed(error.code, error.headers.get("Retry-After")) from None
        except TimeoutError:
            raise self._late() from None
        except (OSError, http.client.HTTPException) as error:
            raise self._broken(getattr(error, "reason", error)) from None

    def _read(self, response: Any, until: float) -> bytes:
        """A service that sends byte after byte is no quicker than one that sends none."""
        parts, size = [], 0
        while part := response.read1(PIECE):
            parts.append(part)
            size += len(part)
            if time.monotonic() > until:
                raise self._late()
            if size > LARGEST:
                raise NoAnswerError(f"more than {LARGEST >> 20} MB in one answer")
        return b"".join(parts)

    def _late(self) -> NoAnswerError:
        return NoAnswerError(f"no answer within {self.timeout:g} s")

    def _broken(self, reason: object) -> Exception:
        if isinstance(reason, TimeoutError):
            return self._late()
        if isinstance(reason, ssl.SSLCertVerificationError):
            return InvalidInputError(
                f"{self.host} has no certificate that this machine trusts",
                "correct it, or name the authority's file in the environment variable SSL_CERT_FILE",
                "endpoint-refuses",
            )
        return NoAnswerError("no connection")

    def _failed(self, code: int, later: str | None) -> Exception:
        """What a status other than success means."""
        if code in AGAIN or code >= 500:
            if later is not None and code in (429, 503):
                self._postpone(_seconds(later))
            return NoAnswerError(f"HTTP {code}")
        if 300 <= code < 400:
            return InvalidInputError(
                f"{self.host} answers with a redirect, and records are sent only where you said",
                "give the address that it redirects to, if you trust it",
                "endpoint-refuses",
            )
        remedies = {
            401: "check the header with the credentials",
            403: "check the header with the credentials, and what they allow",
            404: "check the path of the address",
            405: "give the address that takes POST requests",
            413: "send fewer rows at once: asking=Asking(batch=100)",
        }
        usual = (
            "check the names of the fields (rows=, answer=, columns=, more=; in a terminal `--request`, `--response`)"
            " and the form of X"
        )
        return InvalidInputError(
            f"{self.host} refuses the request (HTTP {code})", remedies.get(code, usual), "endpoint-refuses"
        )

    def _postpone(self, seconds: float) -> None:
        if seconds > LONGEST:
            raise InvalidInputError(
                f"{self.host} asks to wait for {seconds:,.0f} s",
                "run the same call again then; with kept= only the missing batches are sent",
                "endpoint-refuses",
            )
        self.next = max(self.next, time.monotonic() + seconds)


class _Still(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: it could lead records and credentials elsewhere."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _opener(host: str) -> urllib.request.OpenerDirector:
    """This machine is not asked through a proxy on another one."""
    proxies = [urllib.request.ProxyHandler({})] if _here(host) else []
    return urllib.request.build_opener(_Still, *proxies)


def _address(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except (AttributeError, ValueError):
        usable = False
    if not usable or not re.fullmatch(r"[\x21-\x7e]+", url):
        raise InvalidInputError(
            "the address of the model cannot be used",
            "give one such as https://models.example/predict or http://127.0.0.1:8000/predict",
            "syntax-error",
        )
    if parts.username is not None or parts.password is not None:
        raise InvalidInputError(
            "the address holds credentials, which end up in logs",
            "send them in a header, with its value from an environment variable",
            "unsafe-address",
        )
    return parts


def _here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _seconds(later: str) -> float:
    """Of a Retry-After header: seconds, or a date."""
    try:
        found = float(later) if later.strip().isdigit() else parsedate_to_datetime(later).timestamp() - time.time()
    except (TypeError, ValueError):
        return 0.0
    return max(0.0, found)


def _table(rows: Any) -> list[Any]:
    """Lists of plain values; None where a value is missing."""
    if hasattr(rows, "iloc"):
        rows = rows.astype(object).where(rows.notna(), None).to_numpy()
    found: list[Any] = _plain(rows.tolist())
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value


def _within(value: Any, path: list[str]) -> Any:
    """A field of a field; of a list, a place, or the field of each of its items."""
    for at, part in enumerate(path):
        if isinstance(value, list) and not part.isdigit():
            return [_within(one, path[at:]) for one in value]
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def _array(value: Any) -> npt.NDArray[Any]:
    """A list of numbers, of classes, or of rows of numbers. null is a number that is missing."""
    if not isinstance(value, list):
        raise TypeError
    found = np.asarray(value)
    return np.asarray(value, np.float64) if found.dtype == object else found
