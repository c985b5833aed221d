"""Which folders of the study corpus are one Claude config / one Codex home (a "set")."""

import os

CORPUS = os.environ.get(
    "ORACLE_CORPUS", os.path.join(os.path.dirname(__file__), "..", "..", "..", "shared", "corpus")
)
CLAUDE_HOMES = ("cc", "cctui", "cctui2", "paced")


def corpus_sets():
    """[(name, harness, [paths])]: every set is read on its own, as one store."""
    out = []
    base = os.path.join(CORPUS, "transcripts", "claude")
    for folder in sorted(os.listdir(base)):
        path = os.path.join(base, folder)
        homes = [h for h in CLAUDE_HOMES if os.path.isdir(os.path.join(path, h))]
        if folder.startswith("local-cli__"):
            for h in homes:
                out.append(("claude__%s__%s" % (folder, h), "claude", [os.path.join(path, h)]))
        else:
            out.append(("claude__" + folder, "claude", [path]))
    base = os.path.join(CORPUS, "transcripts", "codex")
    for folder in sorted(os.listdir(base)):
        path = os.path.join(base, folder)
        out.append(("codex__" + folder, "codex", [path]))
        if os.path.isdir(os.path.join(path, "paced")):
            out.append(("codex__%s__paced" % folder, "codex", [os.path.join(path, "paced")]))
    for harness, home in (("claude", ".claude"), ("codex", ".codex")):
        base = os.path.join(CORPUS, "real-cli", harness)
        for case in sorted(os.listdir(base)):
            path = os.path.join(base, case, "home", home)
            if os.path.isdir(path):
                out.append(("real-cli__%s__%s" % (harness, case), harness, [path]))
    return out
