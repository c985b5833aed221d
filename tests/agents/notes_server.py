"""A tiny MCP server on stdin and stdout: ``remember`` answers "noted", ``refuse`` fails.

Written out by hand (JSON-RPC 2.0, one message a line) so that tests need no MCP library.
Both tools are annotated as harmless: Codex runs nothing else without an approval.
"""

from __future__ import annotations

import json
import sys
from typing import Any

PROTOCOL = "2025-06-18"
INPUT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
HARMLESS = {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}
TOOLS = [
    {"name": "remember", "description": "Keep a note.", "inputSchema": INPUT, "annotations": HARMLESS},
    {"name": "refuse", "description": "Always fails.", "inputSchema": INPUT, "annotations": HARMLESS},
]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request, or None for a method that this server does not have."""
    if method == "initialize":
        return {
            "protocolVersion": PROTOCOL,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "notes", "version": "1"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        refused = params["name"] != "remember"
        text = "the server refused this note" if refused else f"noted: {params['arguments']['text']}"
        return {"content": [{"type": "text", "text": text}], "isError": refused}
    return None


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = answer(message["method"], message.get("params") or {})
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if result is None:
            reply["error"] = {"code": -32601, "message": "method not found"}
        else:
            reply["result"] = result
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
