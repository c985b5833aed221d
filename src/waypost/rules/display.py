"""Display text is what may stand on a terminal or in a document: visible, bounded, unable to act.

`neutralise` replaces every character that a terminal or a renderer obeys instead of showing, by a visible
escape (`\\x1b`, `\\u202e`, `\\U000e0041`). It neutralises, it does not encode: a backslash that was already
there stays as it is, so the result is for reading and cannot be turned back.

Escaped: C0 and C1 controls except newline and tab (a carriage return before a newline is dropped, it is half
of a line end), bidirectional controls, zero-width and other default-ignorable characters, line and paragraph
separators, interlinear annotations, tags, private use, noncharacters, unassigned planes, lone surrogates.
Kept although invisible, because scripts and emoji break without them:
  * a zero-width joiner between two emoji, and joiner or non-joiner between two letters of Arabic, Syriac,
    the Indic scripts, Tibetan, Myanmar, Khmer or Mongolian;
  * one variation selector directly after a visible character; a second one in a row is escaped, since
    chains of them carry hidden bytes.
Code points unassigned inside assigned planes are kept: the next Unicode version gives them meaning, and
which they are depends on the interpreter.

Widths are terminal cells by East Asian Width (UAX 11): wide and fullwidth two, marks and joined emoji none.
`format_*` only format; a missing figure is `unknown`, never a zero.

Sources: Unicode 15.1 DerivedCoreProperties (Default_Ignorable_Code_Point), UAX 9, UTS 51, Trojan Source
(CVE-2021-42574), terminal escape injection (CVE-2003-0063 and its successors).
"""

import re
import unicodedata
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, InvalidOperation

scan_chars_per_cell_max = 32
kept_chars_per_cell_max = 8
scan_chars_extra = 1024

_ELLIPSIS = "…"
_JOINER = "\u200d"
_NON_JOINER = "\u200c"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_ALWAYS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0003fffe\U0003ffff"
    "\U00040000-\U000e00ff\U000e01f0-\U0010ffff"
)
_SUSPECT = re.compile(f"[{_ALWAYS}{_NON_JOINER}{_JOINER}{_SELECTORS}]")
# The same for ASCII text: a set within one byte is searched several times faster.
_SUSPECT_ASCII = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_JOINING_LETTER = re.compile(
    "[\u0620-\u06dc\u06de-\u070e\u0710-\u077f\u08a0-\u08e1\u08e3-\u0dff\u0f00-\u109f"
    "\u1780-\u17b3\u17b6-\u17ff\u1807-\u180a\u1810-\u18af\ua840-\ua87f\ua8e0-\ua8ff]"
)
_JOINED_EMOJI = re.compile(
    "[\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
# Narrow alone, two cells wide when an emoji selector follows; keycaps are among them.
_WIDENED = re.compile(f"[#*0-9]|{_JOINED_EMOJI.pattern}")
_SELECTOR = re.compile(f"[{_SELECTORS}]")
_SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"


def neutralise(text: str) -> str:
    """The text with every acting or invisible character made visible; the same object if there is none."""
    if (_SUSPECT_ASCII if text.isascii() else _SUSPECT).search(text) is None:
        return text
    shown = _SUSPECT.sub(_replacement, text)
    return text if shown == text else shown


def _replacement(match: re.Match[str]) -> str:
    text, at = match.string, match.start()
    character = text[at]
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if character == "\r" and after == "\n":
        return ""
    if _SELECTOR.match(character) and before and not before.isspace() and not _SUSPECT.match(before):
        return character
    if character in (_JOINER, _NON_JOINER) and _joins(text, at):
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _joins(text: str, at: int) -> bool:
    """True if the joiner at `at` stands between two letters, or two emoji, that need it."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if _JOINING_LETTER.match(before) and _JOINING_LETTER.match(after):
        return True
    if text[at] != _JOINER or not _JOINED_EMOJI.match(after):
        return False
    return bool(
        _JOINED_EMOJI.match(before) or (before == "\ufe0f" and _JOINED_EMOJI.match(text[at - 2 : at - 1]))
    )


def display_width(text: str) -> int:
    """The number of terminal cells the text takes; controls and newlines count as none."""
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(_widths(text))


def _widths(text: str) -> list[int]:
    """The cells of each character, given those before it."""
    widths: list[int] = []
    previous = ""
    for character in text:
        width = _cell_count(character)
        joins = previous == _JOINER and _JOINED_EMOJI.match(character)
        tints = character in _SKIN_TONES and _JOINED_EMOJI.match(previous)
        if joins or tints:
            width = 0
        elif character == "\ufe0f" and widths and widths[-1] == 1 and _WIDENED.match(previous):
            width = 1
        widths.append(width)
        previous = character
    return widths


def _cell_count(character: str) -> int:
    if " " <= character <= "~":
        return 1
    if unicodedata.category(character) in ("Mn", "Me", "Cc", "Cf", "Cs", "Zl", "Zp"):
        return 0
    if "\u1160" <= character <= "\u11ff":  # Hangul vowels and finals sit inside the syllable's two cells
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def one_line(text: str, width: int) -> str:
    """The text on one line of at most `width` cells: neutralised, whitespace collapsed, cut with `…`.

    Reads no more than `scan_chars_per_cell_max` characters a cell, and keeps no more than
    `kept_chars_per_cell_max`, so neither a long text nor piled-up marks cost or fill more than a line.
    """
    if width <= 0:
        return ""
    scan = width * scan_chars_per_cell_max + scan_chars_extra
    start = text.lstrip()
    line = neutralise(" ".join(start[:scan].split()))
    kept_max = width * kept_chars_per_cell_max
    if len(start) <= scan and len(line) <= kept_max and display_width(line) <= width:
        return line
    taken = 0
    cells = 0
    for cell in _widths(line[:kept_max]):
        if cells + cell > width - 1:
            break
        cells += cell
        taken += 1
    return line[:taken].rstrip(f" {_JOINER}{_NON_JOINER}") + _ELLIPSIS


# --- Figures ---------------------------------------------------------------------------------

UNKNOWN = "unknown"


def format_count(count: int | None) -> str:
    """`12,345`."""
    return UNKNOWN if count is None else f"{count:,}"


def _scaled(amount: int, units: tuple[str, ...], step: int) -> str:
    """One decimal in the largest unit that keeps the figure below `step` after rounding half up."""
    sign, size = ("-", -amount) if amount < 0 else ("", amount)
    if size < step:
        return f"{sign}{size}{units[0] and ' ' + units[0]}"
    for power, unit in enumerate(units[1:], start=1):
        scale = step**power
        tenths = (size * 10 + scale // 2) // scale
        if tenths < step * 10 or unit == units[-1]:
            return f"{sign}{tenths // 10:,}.{tenths % 10} {unit}"
    raise AssertionError("there is always a last unit")


def format_tokens(tokens: int | None) -> str:
    """`987`, `12.3 k`, `1.2 M`, `4.0 G`."""
    return UNKNOWN if tokens is None else _scaled(tokens, ("", "k", "M", "G"), 1000)


def format_bytes(count: int | None) -> str:
    """`512 B`, `1.5 KiB`, `20.0 MiB`."""
    return UNKNOWN if count is None else _scaled(count, ("B", "KiB", "MiB", "GiB", "TiB"), 1024)


def format_duration_ms(duration_ms: int | None) -> str:
    """`950 ms`, `1.5 s`, `1 min 5 s`, `2 h 3 min`, `4 d 5 h`; parts below the second unit are dropped."""
    if duration_ms is None:
        return UNKNOWN
    sign, size_ms = ("-", -duration_ms) if duration_ms < 0 else ("", duration_ms)
    if size_ms < 1000:
        return f"{sign}{size_ms} ms"
    if size_ms < 60_000:
        return f"{sign}{size_ms // 1000}.{size_ms % 1000 // 100} s"
    seconds = size_ms // 1000
    for name, unit_s, lesser, lesser_s in (
        ("d", 86_400, "h", 3600),
        ("h", 3600, "min", 60),
        ("min", 60, "s", 1),
    ):
        if seconds >= unit_s:
            rest = seconds % unit_s // lesser_s
            return f"{sign}{seconds // unit_s:,} {name}" + (f" {rest} {lesser}" if rest else "")
    raise AssertionError("a minute or more always fits a unit")


def format_usd(amount: Decimal | str | None, lower_bound: bool = False) -> str:
    """`$1.23`, `$0.0042` below a cent, `≥ $1.23` for a lower bound (rounded down), or `unknown`."""
    try:
        value = Decimal(amount) if amount is not None else None
    except InvalidOperation:
        value = None
    if value is None or not value.is_finite() or value.adjusted() > 15:
        return UNKNOWN
    size = abs(value)
    places = Decimal("0.0001") if 0 < size < Decimal("0.01") else Decimal("0.01")
    rounding = ROUND_FLOOR if lower_bound else ROUND_HALF_EVEN
    shown = value.quantize(places, rounding=rounding)
    prefix = "≥ " if lower_bound else ""
    if value > 0 and not shown:
        return "> $0" if lower_bound else "< $0.0001"
    sign = "-" if shown < 0 else ""
    return f"{prefix}{sign}${abs(shown):,}"
