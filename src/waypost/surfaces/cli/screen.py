"""Readable output: calm, aligned tables that fit the terminal and stay readable without colour.

Text from transcripts is neutralised here, at the last moment before it reaches a terminal. Colour
carries no meaning of its own; ``NO_COLOR`` and ``TERM=dumb`` switch it off. Widths below 40 columns are
treated as 40.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from waypost.rules.display import display_width, neutralise, one_line

WIDTH_MIN = 40
WIDTH_MAX = 160
FLEXIBLE_MIN = 28


@dataclass(frozen=True)
class Column:
    """A column: heading, alignment, and how it gives way on a narrow terminal.

    ``flexible``: takes what is left and is cut with an ellipsis. ``drop``: columns of the highest number
    are left out first when the table does not fit; 0 is never left out.
    """

    heading: str
    right: bool = False
    flexible: bool = False
    style: str = ""
    drop: int = 0


class Screen:
    """A place to write for a person."""

    def __init__(self) -> None:
        width = shutil.get_terminal_size((100, 24)).columns
        self.width = max(WIDTH_MIN, min(width, WIDTH_MAX))
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self.console = Console(
            file=sys.stdout,
            width=self.width,
            highlight=False,
            markup=False,
            emoji=False,
            no_color=not colour,
            color_system="auto" if colour else None,
            force_terminal=colour,
            soft_wrap=False,
        )

    def line(self, text: str = "", style: str = "") -> None:
        """Write one line, wrapped where it does not fit."""
        self.console.print(Text(neutralise(text), style=style), overflow="fold")

    def heading(self, text: str) -> None:
        """Write a heading with space above it."""
        self.console.print()
        self.console.print(Text(neutralise(text), style="bold"))

    def note(self, text: str) -> None:
        """Write a quiet remark."""
        self.line(text, style="dim")

    def block(self, text: str, *, indent: int = 4, lines_max: int = 0, style: str = "") -> None:
        """Write text as it is, indented; ``lines_max`` leaves the middle out."""
        lines = neutralise(text).replace("\t", "    ").splitlines()
        if lines_max and len(lines) > lines_max:
            head, tail = lines_max * 2 // 3, lines_max - lines_max * 2 // 3
            left = len(lines) - head - tail
            lines = [*lines[:head], f"… {left} more lines …", *(lines[-tail:] if tail else [])]
        for one in lines:
            self.console.print(
                Padding(Text(one, style=style, overflow="fold"), (0, 0, 0, indent), expand=False)
            )

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
        """Write aligned columns; the flexible one gives way."""
        kept = list(range(len(columns)))
        clean = [[neutralise(cell).replace("\n", " ") for cell in row] for row in rows]
        natural = [
            max([display_width(column.heading), *(display_width(row[place]) for row in clean)])
            for place, column in enumerate(columns)
        ]

        def needed() -> int:
            wide = sum(
                min(natural[place], FLEXIBLE_MIN) if columns[place].flexible else natural[place]
                for place in kept
            )
            return wide + 2 * (len(kept) - 1)

        while needed() > self.width and any(columns[place].drop for place in kept):
            kept.remove(max(kept, key=lambda place: columns[place].drop))
        flexible = [place for place in kept if columns[place].flexible]
        fixed = sum(natural[place] for place in kept if place not in flexible)
        room = max(self.width - fixed - 2 * (len(kept) - 1), 8 * len(flexible))
        widths = {
            place: min(natural[place], room // len(flexible)) if place in flexible else natural[place]
            for place in kept
        }
        headed = any(columns[place].heading for place in kept)
        table = Table(
            box=None,
            show_header=headed,
            show_edge=False,
            pad_edge=False,
            padding=(0, 2, 0, 0),
            header_style="dim",
        )
        for place in kept:
            column = columns[place]
            table.add_column(
                column.heading,
                justify="right" if column.right else "left",
                no_wrap=True,
                style=column.style,
                width=widths[place],
                overflow="ellipsis",
            )
        for row in clean:
            table.add_row(
                *(
                    Text(one_line(row[place], widths[place]) if columns[place].flexible else row[place])
                    for place in kept
                )
            )
        self.console.print(table)
