"""What the scripted model billed: the ground truth that transcripts are compared with.

Taken from the server's own log, never from a transcript. An answer counts when it was
sent to its last event; one that was cut off (interrupted, or broken by a scripted fault)
is kept apart, because what a real provider bills for it cannot be known from here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from mockmodel.requestlog import Exchange
from mockmodel.scenario import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Disjoint token counts. ``reasoning`` alone is a part of another one (``output``)."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    reasoning: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(**{key: value + getattr(other, key) for key, value in asdict(self).items()})

    def as_json(self) -> dict[str, int]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Billed:
    """One model answer: its id on the wire, who asked, and its tokens.

    ``whole`` says whether the last event was sent. For an answer that was cut off,
    ``tokens`` are those the whole answer would have had.
    """

    response_id: str
    model: str
    lane: str
    whole: bool
    tokens: Tokens


def billed(exchanges: Iterable[Exchange]) -> tuple[Billed, ...]:
    """Every model answer among ``exchanges``, in request order; HTTP errors are none."""
    return tuple(
        Billed(
            response_id=str(exchange.response["id"]),
            model=str(exchange.response["model"]),
            lane=exchange.lane or "",
            whole=exchange.outcome == "answered",
            tokens=_tokens(exchange),
        )
        for exchange in exchanges
        if exchange.usage is not None
    )


def total(answers: Iterable[Billed]) -> Tokens:
    """The sum over the answers that were sent whole."""
    return sum((answer.tokens for answer in answers if answer.whole), Tokens())


def _tokens(exchange: Exchange) -> Tokens:
    usage = exchange.usage
    assert usage is not None
    return Tokens(
        input=usage.input,
        output=usage.output,
        cache_read=usage.cache_read,
        cache_write_5m=usage.cache_write,
        cache_write_1h=usage.cache_write_1h,
        reasoning=usage.reasoning,
    )


def as_json(answer: Billed) -> Json:
    return {
        "response_id": answer.response_id,
        "model": answer.model,
        "lane": answer.lane,
        "whole": answer.whole,
        **answer.tokens.as_json(),
    }
