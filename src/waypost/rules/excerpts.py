"""Head-and-tail excerpts of long text, with the exact number of bytes left out."""

from __future__ import annotations

from typing import NamedTuple


class Excerpt(NamedTuple):
    """``text`` holds the head, a marker line and the tail; ``dropped`` counts UTF-8 bytes left out."""

    text: str
    dropped: int


def _whole(piece: bytes) -> bytes:
    return piece.decode("utf-8", "ignore").encode("utf-8")


def excerpt(text: str, *, bytes_max: int) -> Excerpt:
    """Keep at most ``bytes_max`` bytes of ``text``: half from its head, half from its tail.

    Cuts fall between characters. A lone surrogate counts as one byte and becomes ``?`` where text is cut.
    """
    if len(text) * 4 <= bytes_max:
        return Excerpt(text, 0)
    if len(text) > bytes_max * 2:
        # Only the ends are encoded, so a huge text costs its length once.
        total = len(text.encode("utf-8", "replace")) if not text.isascii() else len(text)
        head = text[:bytes_max].encode("utf-8", "replace")
        tail = text[-bytes_max:].encode("utf-8", "replace")
    else:
        head = tail = text.encode("utf-8", "replace")
        total = len(head)
    if total <= bytes_max:
        return Excerpt(text, 0)
    half = bytes_max // 2
    head = _whole(head[:half])
    tail = _whole(tail[-half:]) if half else b""
    dropped = total - len(head) - len(tail)
    marker = f"\n… [{dropped} bytes left out] …\n"
    return Excerpt(head.decode() + marker + tail.decode(), dropped)
