"""Recognises text that this product itself put into an agent's session.

Two loops must stay closed. A harness that runs our own analysis writes a transcript like any other;
learning from it would be learning from ourselves. And a mission pack delivered to a session is
echoed in that session's transcript; it must not count as evidence for its own lesson. So both carry
a fixed marker, and a reader flags what carries it.
"""

from __future__ import annotations

from typing import Final

#: First line of every prompt that our own analysis sends to a harness.
ANALYSIS_MARKER: Final = "[waypost analysis run"
#: Opens every mission pack that we deliver.
PACK_MARKER: Final = "<waypost-mission-pack"


def is_own_analysis(prompt: str) -> bool:
    """Tell whether a session's opening prompt was written by our own analysis."""
    return prompt.lstrip().startswith(ANALYSIS_MARKER)


def holds_delivered_pack(text: str) -> bool:
    """Tell whether text contains a mission pack that we delivered."""
    return PACK_MARKER in text
