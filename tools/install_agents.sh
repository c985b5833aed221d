#!/bin/sh
# Installs the real Claude Code and Codex programs that the tests marked `agents`
# drive, into .tools/agents of this checkout. Nothing outside that folder changes.
#
#   tools/install_agents.sh            # the pinned versions, skipped when they are there
#   CLAUDE_VERSION=... CODEX_VERSION=... tools/install_agents.sh
#
# Versions are pinned because a bare `npm install` picks by the Node version it runs
# under. Neither program needs Node to run. About 0.8 GB and half a minute.
set -eu

claude_version=${CLAUDE_VERSION:-2.1.332}
codex_version=${CODEX_VERSION:-0.171.0}
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
folder=$root/.tools/agents

if ! command -v npm >/dev/null 2>&1; then
    echo "install_agents: npm is not on PATH; install Node.js with npm and run this again" >&2
    exit 3
fi

mkdir -p "$folder/home"

# install PROGRAM PACKAGE VERSION: one line on stdout, exit 1 with the log's place on failure.
install() {
    program=$folder/node_modules/.bin/$1
    log=$folder/npm-$1.log
    have=$(HOME=$folder/home "$program" --version 2>/dev/null || true)
    case " $have " in
        *" $3 "*)
            echo "$1 $3 present: $program"
            return 0
            ;;
    esac
    if ! npm install --prefix "$folder" --save-exact --no-audit --no-fund --loglevel=error "$2@$3" >"$log" 2>&1; then
        echo "install_agents: npm could not install $2@$3; see $log" >&2
        exit 1
    fi
    have=$(HOME=$folder/home "$program" --version 2>/dev/null || true)
    case " $have " in
        *" $3 "*) echo "$1 $3 installed: $program" ;;
        *)
            echo "install_agents: $program says '$have', not $3; see $log" >&2
            exit 1
            ;;
    esac
}

install claude @anthropic-ai/claude-code "$claude_version"
install codex @openai/codex "$codex_version"
