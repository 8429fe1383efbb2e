"""Numbers that users write, read exactly: 0.1 means one tenth, not the double nearest to it."""

from __future__ import annotations

import numbers
import operator
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from privet.core.claim import claim
from privet.errors import InvalidInputError

# Longer or more extreme numbers are never meant, and 1e999999999 would fill the memory.
MAX_DIGITS = 400
LARGEST = 10**MAX_DIGITS


@claim("floats-are-decimals")
def rational(value: object, name: str) -> Fraction:
    """The exact value of an int, Fraction, Decimal, float or text such as "0.1" or "1/3"."""
    number = _read(value, name)
    if max(abs(number.numerator), number.denominator) > LARGEST:
        raise InvalidInputError(f"{name} is too long", f"give {name} with at most {MAX_DIGITS} digits", "too-long")
    return number


def _read(value: object, name: str) -> Fraction:
    if isinstance(value, str) and "/" in value:
        top, _, bottom = value.partition("/")
        divisor = _decimal(bottom, name)
        if divisor == 0:
            raise _not_a_number(value, name)
        return Fraction(_decimal(top, name)) / Fraction(divisor)
    if isinstance(value, float | str | Decimal):
        return Fraction(_decimal(value, name))
    if isinstance(value, numbers.Integral):
        return Fraction(whole(value, name))
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, numbers.Real):
        return Fraction(_decimal(value, name))
    raise _not_a_number(value, name)


def positive(value: object, name: str) -> Fraction:
    """A rational above zero."""
    number = rational(value, name)
    if number <= 0:
        raise InvalidInputError(
            f"{name} must be above 0, not {show(value)}", f"for example {_given(name, 1)}", "not-positive"
        )
    return number


def below_one(value: object, name: str) -> Fraction:
    """A rational of at least zero and below one, as a delta is."""
    number = rational(value, name)
    if not 0 <= number < 1:
        raise InvalidInputError(
            f"{name} must be at least 0 and below 1, not {show(value)}",
            f"give {_given(name, 0)}, or a small one: {_given(name, '1e-9')}",
            "out-of-range",
        )
    return number


def whole(value: object, name: str, least: int | None = None) -> int:
    """An integer, of at least `least` if that is given; 3.0 and True are not integers."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None:
        raise InvalidInputError(
            f"{name} must be a whole number, not {show(value)}", f"for example {_given(name, least or 1)}", "not-whole"
        )
    if least is not None and number < least:
        raise InvalidInputError(
            f"{name} must be at least {least}, not {show(value)}",
            f"give {_given(name, least)} or more",
            "too-small",
        )
    return number


def show(value: object) -> str:
    """A short text of a caller's own argument, for an error."""
    try:
        text = str(value) if isinstance(value, numbers.Number) else repr(value)
    except ValueError:  # Python does not print integers of thousands of digits
        return "a very long number"
    return text if len(text) <= 40 else text[:37] + "..."


def _decimal(value: object, name: str) -> Decimal:
    text = str(value)  # for a float the shortest decimal that reads back as the same float
    if len(text) > MAX_DIGITS:
        raise InvalidInputError(
            f"{name} has {len(text)} characters", f"give {name} with at most {MAX_DIGITS} digits", "too-long"
        )
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise _not_a_number(value, name) from None
    if not number.is_finite():
        raise _not_a_number(value, name, "not-finite")
    if number and abs(number.adjusted()) > MAX_DIGITS:
        raise InvalidInputError(
            f"{name} is too extreme: {show(value)}",
            f"give {name} between 1e-{MAX_DIGITS} and 1e{MAX_DIGITS}",
            "out-of-range",
        )
    return number


def _not_a_number(value: object, name: str, code: str = "not-a-number") -> InvalidInputError:
    return InvalidInputError(
        f"{name} must be a finite number, not {show(value)}",
        f"for example {_given(name, _pointed(value))}",
        code,
    )


def _given(name: str, value: object) -> str:
    """As an argument, if that is what the name is the name of."""
    return f"{name}={value}" if name.isidentifier() else str(value)


def _pointed(value: object) -> str:
    """0.5 for "0,5"; otherwise any number."""
    text = value.strip() if isinstance(value, str) else ""
    whole_part, _, rest = text.partition(",")
    return f"{whole_part}.{rest}" if (whole_part + rest).isdecimal() and len(text) <= MAX_DIGITS else "0.5"
