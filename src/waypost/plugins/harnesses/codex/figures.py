"""Token figures of Codex: cached and cache-write input are part of input, reasoning is part of output."""

from __future__ import annotations

import msgspec

from waypost.plugins.harnesses.codex.shapes import TokenUsage


class Totals(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Running totals of a thread as a record states them."""

    input: int
    output: int
    total: int
    cached: int = 0
    written: int = 0
    reasoning: int = 0

    def same(self, other: Totals | None) -> bool:
        """Tell whether nothing was spent between two statements."""
        return other is not None and (self.input, self.output, self.total) == (
            other.input,
            other.output,
            other.total,
        )


def uncached(usage: TokenUsage) -> tuple[int, int, int, int, int]:
    """Return uncached input, cached input, cache writes, output, reasoning, none below zero."""
    cached = max(usage.cached_input_tokens or 0, 0)
    written = max(usage.cache_write_input_tokens or 0, 0)
    fresh = max((usage.input_tokens or 0) - cached - written, 0)
    return (
        fresh,
        cached,
        written,
        max(usage.output_tokens or 0, 0),
        max(usage.reasoning_output_tokens or 0, 0),
    )


def totals(usage: TokenUsage) -> Totals:
    """Return running totals; a missing sum is input and output together."""
    summed = usage.total_tokens
    if summed is None:
        summed = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    return Totals(
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        summed,
        usage.cached_input_tokens or 0,
        usage.cache_write_input_tokens or 0,
        usage.reasoning_output_tokens or 0,
    )


def adds_up(last: TokenUsage) -> bool:
    """Tell a response's usage from a context-window filler, whose parts do not make its total.

    A few versions count reasoning again in ``last.total``.
    """
    parts = (last.input_tokens or 0) + (last.output_tokens or 0)
    total = last.total_tokens
    return total is None or total in (parts, parts + (last.reasoning_output_tokens or 0))


def difference(now: TokenUsage, before: Totals | None) -> TokenUsage:
    """Return a response's usage where only totals are given: what each total grew by."""
    if before is None:
        return now
    return TokenUsage(
        input_tokens=(now.input_tokens or 0) - before.input,
        cached_input_tokens=(now.cached_input_tokens or 0) - before.cached,
        cache_write_input_tokens=(now.cache_write_input_tokens or 0) - before.written,
        output_tokens=(now.output_tokens or 0) - before.output,
        reasoning_output_tokens=(now.reasoning_output_tokens or 0) - before.reasoning,
    )
