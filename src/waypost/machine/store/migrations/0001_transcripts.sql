-- Sessions of coding agents: what was said and run, what it cost, where each fact was read.
--
-- The whole file is encrypted and authenticated page by page. Even so, indexed columns hold no text
-- of a transcript: ids, hashes, numbers. A turn's words, a session's title and paths are sealed
-- values: packed, and in a turn compressed together with the raw record they were read from.
-- Times are milliseconds since the epoch, UTC.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;

-- Names that repeat on many rows: models, tools.
CREATE TABLE word (
    id   INTEGER PRIMARY KEY,
    hash INTEGER NOT NULL UNIQUE,
    text TEXT NOT NULL
);

CREATE TABLE project (
    id     INTEGER PRIMARY KEY,
    key    TEXT NOT NULL UNIQUE,
    sealed BLOB NOT NULL            -- name, remote, roots
);

CREATE TABLE session (
    id         INTEGER PRIMARY KEY,
    key        TEXT NOT NULL UNIQUE,
    harness    TEXT NOT NULL,
    native_id  TEXT NOT NULL,
    project_id INTEGER NOT NULL REFERENCES project(id),
    parent     TEXT,                -- session key of the agent that started this one
    forked     TEXT,                -- session key of the session this one continues a copy of
    started_at INTEGER,
    ended_at   INTEGER,
    title_rank INTEGER NOT NULL DEFAULT 0,
    own_run    INTEGER NOT NULL DEFAULT 0,
    reasons    TEXT NOT NULL DEFAULT '',   -- why totals may be incomplete: code words
    lineage    TEXT NOT NULL DEFAULT '',   -- native ids this session may have copied from
    sealed     BLOB NOT NULL        -- title, directory, branch, version, entry point, models
);
CREATE INDEX session_by_time ON session(started_at DESC, id);
CREATE INDEX session_by_project ON session(project_id);

CREATE TABLE source_file (
    id          INTEGER PRIMARY KEY,
    harness     TEXT NOT NULL,
    path_hash   INTEGER NOT NULL UNIQUE,
    tag         BLOB NOT NULL,
    sealed      BLOB NOT NULL,      -- root and relative path
    device      INTEGER NOT NULL,
    inode       INTEGER NOT NULL,
    size        INTEGER NOT NULL,
    mtime_ns    INTEGER NOT NULL,
    offset      INTEGER NOT NULL,
    head_bytes  INTEGER NOT NULL,
    head        BLOB NOT NULL,
    tail_bytes  INTEGER NOT NULL,
    tail        BLOB NOT NULL,
    records     INTEGER NOT NULL DEFAULT 0,
    replaced_by INTEGER,            -- the file that took this one's place; its turns are stale
    state       BLOB NOT NULL
);

CREATE INDEX source_file_by_tag ON source_file(tag);
CREATE INDEX source_file_by_inode ON source_file(inode);

-- What one file says of one session. The counters are of everything in the file; copied_* of them
-- lie before copied_until, the offset up to which the file repeats what another file says.
-- shared_until: the offset up to which it repeats another session.
CREATE TABLE file_session (
    file_id           INTEGER NOT NULL REFERENCES source_file(id),
    session_id        INTEGER NOT NULL REFERENCES session(id),
    opened_at         INTEGER,
    ended_at          INTEGER,
    turns             INTEGER NOT NULL DEFAULT 0,
    prompts           INTEGER NOT NULL DEFAULT 0,
    automated_prompts INTEGER NOT NULL DEFAULT 0,
    queued_prompts    INTEGER NOT NULL DEFAULT 0,
    copied_until      INTEGER NOT NULL DEFAULT -1,
    shared_until      INTEGER NOT NULL DEFAULT -1,
    copied_turns      INTEGER NOT NULL DEFAULT 0,
    copied_prompts    INTEGER NOT NULL DEFAULT 0,
    copied_automated  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session_id, file_id)
) WITHOUT ROWID;
CREATE INDEX file_session_by_file ON file_session(file_id);

CREATE TABLE turn (
    id         INTEGER PRIMARY KEY,
    session_id INTEGER NOT NULL,
    file_id    INTEGER NOT NULL,
    offset     INTEGER NOT NULL,
    part       INTEGER NOT NULL,
    length     INTEGER NOT NULL,
    role       INTEGER NOT NULL,
    origin     INTEGER NOT NULL,
    at         INTEGER,
    flags      INTEGER NOT NULL,
    tool       INTEGER,
    call       INTEGER,
    exit_code  INTEGER,
    parser     INTEGER NOT NULL,
    payload    BLOB                 -- sealed
);
CREATE UNIQUE INDEX turn_by_place ON turn(session_id, file_id, offset, part);

CREATE TABLE usage_entry (
    id             INTEGER PRIMARY KEY,
    file_id        INTEGER NOT NULL,
    session_id     INTEGER NOT NULL,
    key            INTEGER NOT NULL,
    at             INTEGER,
    model          INTEGER,
    input          INTEGER NOT NULL,
    output         INTEGER NOT NULL,
    cache_read     INTEGER NOT NULL,
    cache_write_5m INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL,
    reasoning      INTEGER NOT NULL,
    web_stated     INTEGER NOT NULL,
    web_observed   INTEGER NOT NULL,
    final          INTEGER NOT NULL,
    first_offset   INTEGER NOT NULL,
    last_offset    INTEGER NOT NULL,
    turn_key       INTEGER,
    total          INTEGER,
    mirrored       INTEGER NOT NULL DEFAULT 0,   -- a second writing beside the file it belongs to
    counted        INTEGER NOT NULL DEFAULT 1,   -- this row counts: its session is the owner
    owner          INTEGER NOT NULL              -- session that pays
);
CREATE UNIQUE INDEX usage_by_session ON usage_entry(session_id, file_id, key);
CREATE INDEX usage_by_key ON usage_entry(key);

CREATE TABLE execution (
    id          INTEGER PRIMARY KEY,   -- hash of session and call
    session_id  INTEGER NOT NULL,
    file_id     INTEGER NOT NULL,
    call        INTEGER NOT NULL,
    call_id     TEXT NOT NULL,
    offset      INTEGER NOT NULL,      -- of the call; -1 where only a result was seen
    part        INTEGER NOT NULL,
    started_at  INTEGER,
    ended_at    INTEGER,
    lifecycle   INTEGER NOT NULL,
    outcome     INTEGER NOT NULL,
    source      INTEGER NOT NULL,
    exit_code   INTEGER,
    duration_ms INTEGER,
    denied      INTEGER NOT NULL
);
CREATE INDEX execution_by_session ON execution(session_id);

CREATE TABLE malformed_record (
    file_id INTEGER NOT NULL,
    offset  INTEGER NOT NULL,
    length  INTEGER NOT NULL,
    reason  TEXT NOT NULL,
    PRIMARY KEY (file_id, offset)
) WITHOUT ROWID;

CREATE TABLE unknown_type (
    file_id INTEGER NOT NULL,
    name    TEXT NOT NULL,
    count   INTEGER NOT NULL,
    PRIMARY KEY (file_id, name)
) WITHOUT ROWID;

-- Sessions whose shared responses are to be attributed again, files whose stale turns are to be
-- compared: written with the turns that cause it, worked off at the end of a pass.
CREATE TABLE unsettled (
    session_id INTEGER PRIMARY KEY
);

-- Session keys that a person asked us to forget: never read again.
CREATE TABLE forgotten (
    key TEXT PRIMARY KEY,
    at  INTEGER NOT NULL
) WITHOUT ROWID;

CREATE VIRTUAL TABLE turn_text USING fts5(
    text, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2'
);

-- The content-free stream: every turn as an observation that joins by session and call.
CREATE VIEW agent_event AS
SELECT id AS turn_id, session_id, at, call, tool, exit_code, flags,
    CASE
        WHEN role IN (3, 4) AND flags & 2048 THEN 'approval'
        WHEN role IN (3, 4) AND flags & 128 THEN 'command'
        WHEN role IN (3, 4) AND flags & 256 THEN 'file'
        WHEN role IN (3, 4) THEN 'tool'
        WHEN role = 6 THEN 'session'
        WHEN flags & 16 THEN 'safety'
        ELSE 'message'
    END AS type,
    CASE role WHEN 3 THEN 'started' WHEN 4 THEN 'ended' WHEN 6 THEN 'compacted' ELSE 'said' END AS phase
FROM turn;
