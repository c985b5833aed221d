"""Help text: complete, narrow enough, and the same words as the documentation."""

from __future__ import annotations

import argparse

import pytest

from waypost.surfaces.cli.main import COMMANDS, overview
from waypost.surfaces.cli.running import parser_of


def test_the_overview_names_every_command_once_with_one_line() -> None:
    text = overview()
    for name, (_, about) in COMMANDS.items():
        lines = [line for line in text.splitlines() if line.split()[:1] == [name]]
        assert len(lines) == 1 and lines[0].endswith(about)
    assert max(map(len, text.splitlines())) <= 100
    assert "--json" in text and "--version" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_says_what_it_is(name: str) -> None:
    silent = [action.dest for action in parser_of(name)._actions if not action.help]
    assert not silent, f"waypost {name}: no help for {silent}"


@pytest.mark.parametrize("name", COMMANDS)
def test_options_cannot_be_abbreviated(name: str) -> None:
    """A script that says --lim today would break when --limits comes."""
    parser = parser_of(name)
    assert isinstance(parser, argparse.ArgumentParser) and not parser.allow_abbrev


@pytest.mark.parametrize("name", COMMANDS)
def test_the_one_line_of_a_command_starts_small_and_has_no_full_stop(name: str) -> None:
    about = COMMANDS[name][1]
    assert about[0].islower() or about.startswith("waypost")
    assert not about.endswith(".") and len(about) <= 70
