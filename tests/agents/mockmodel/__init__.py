"""A scripted stand-in for a model API, for driving real coding-agent CLIs in tests.

``mockmodel`` plays a *scenario* (a list of assistant turns written in JSON or
YAML) over two wire protocols on loopback:

* the OpenAI Responses API, as Codex speaks it (:mod:`mockmodel.openai_api`);
* the Anthropic Messages API, as Claude Code speaks it
  (:mod:`mockmodel.anthropic_api`).

The CLI under test is the real program. It runs the tool calls that the
scenario asks for, writes its own transcript and fires its own hooks; only the
model is scripted.
"""

from mockmodel.billing import Billed, Tokens, billed, total
from mockmodel.player import Player, Problem, Report
from mockmodel.requestlog import Exchange, RequestLog
from mockmodel.scenario import Scenario, ScenarioError, load_scenario, parse_scenario
from mockmodel.server import MockModel

__all__ = [
    "Billed",
    "Exchange",
    "MockModel",
    "Player",
    "Problem",
    "Report",
    "RequestLog",
    "Scenario",
    "ScenarioError",
    "Tokens",
    "billed",
    "load_scenario",
    "parse_scenario",
    "total",
]

__version__ = "0.1.0"
