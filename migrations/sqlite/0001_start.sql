-- Conversations, the queue before them, the messages behind them, and what was done and found.
-- JSON is TEXT on both engines: what a model was shown must come back byte for byte.

CREATE TABLE chat_sessions (
    id                TEXT PRIMARY KEY NOT NULL,
    channel           TEXT NOT NULL,
    room              TEXT NOT NULL,
    thread            TEXT NOT NULL,
    scope_user        TEXT NOT NULL DEFAULT '',
    generation        BIGINT NOT NULL,
    user_id           TEXT NOT NULL,
    agent_id          TEXT NOT NULL,
    parent_session_id TEXT REFERENCES chat_sessions (id),
    turn_id           TEXT,
    kind              TEXT NOT NULL,
    title             TEXT NOT NULL DEFAULT '',
    locale            TEXT NOT NULL DEFAULT '',
    model             TEXT,
    status            TEXT NOT NULL,
    next_seq          BIGINT NOT NULL DEFAULT 1,
    evidence_seq      BIGINT NOT NULL DEFAULT 0,
    lease_owner       TEXT,
    lease_until       BIGINT,
    lease_epoch       BIGINT NOT NULL DEFAULT 0,
    input_tokens      BIGINT NOT NULL DEFAULT 0,
    cached_tokens     BIGINT NOT NULL DEFAULT 0,
    output_tokens     BIGINT NOT NULL DEFAULT 0,
    cost_micros       BIGINT NOT NULL DEFAULT 0,
    created_at        BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL
);
CREATE UNIQUE INDEX chat_sessions_conversation
    ON chat_sessions (channel, room, thread, scope_user, generation) WHERE parent_session_id IS NULL;
CREATE INDEX chat_sessions_parent ON chat_sessions (parent_session_id) WHERE parent_session_id IS NOT NULL;

CREATE TABLE chat_messages (
    id         TEXT PRIMARY KEY NOT NULL,
    session_id TEXT NOT NULL REFERENCES chat_sessions (id),
    seq        BIGINT NOT NULL,
    turn_id    TEXT NOT NULL,
    kind       TEXT NOT NULL,
    author     TEXT,
    body       TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (session_id, seq)
);

CREATE TABLE turns (
    id              TEXT PRIMARY KEY NOT NULL,
    session_id      TEXT NOT NULL REFERENCES chat_sessions (id),
    asker_id        TEXT NOT NULL,
    asker_name      TEXT,
    status          TEXT NOT NULL,
    attempts        BIGINT NOT NULL,
    answer          TEXT,
    answer_complete BOOLEAN,
    reason          TEXT,
    model_calls     BIGINT NOT NULL DEFAULT 0,
    tool_calls      BIGINT NOT NULL DEFAULT 0,
    input_tokens    BIGINT NOT NULL DEFAULT 0,
    cached_tokens   BIGINT NOT NULL DEFAULT 0,
    output_tokens   BIGINT NOT NULL DEFAULT 0,
    opened_at       BIGINT NOT NULL,
    closed_at       BIGINT
);
CREATE INDEX turns_session ON turns (session_id, opened_at);
CREATE INDEX turns_running ON turns (opened_at) WHERE status = 'running';

-- The queue. `arrival` orders it: ids and clocks of several processes don't.
-- An overheard message has its own key space, so that hearing a message never takes its claim.
CREATE TABLE inbox (
    arrival     INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    channel     TEXT NOT NULL,
    message_key TEXT NOT NULL,
    event_id    TEXT,
    kind        TEXT NOT NULL,
    state       TEXT NOT NULL,
    turn_id     TEXT,
    room        TEXT NOT NULL,
    thread      TEXT NOT NULL,
    author_id   TEXT NOT NULL,
    author_name TEXT,
    text        TEXT NOT NULL,
    payload     TEXT NOT NULL,
    sent_at     BIGINT NOT NULL,
    received_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX inbox_claim ON inbox (channel, message_key) WHERE kind <> 'overheard';
CREATE UNIQUE INDEX inbox_overheard ON inbox (channel, message_key) WHERE kind = 'overheard';
CREATE UNIQUE INDEX inbox_event ON inbox (channel, event_id) WHERE event_id IS NOT NULL;
CREATE INDEX inbox_pending ON inbox (channel, room, thread, arrival) WHERE state = 'pending';
CREATE INDEX inbox_author ON inbox (channel, room, thread, author_id) WHERE kind IN ('message', 'stop');
CREATE INDEX inbox_turn ON inbox (turn_id) WHERE turn_id IS NOT NULL;

CREATE TABLE deliveries (
    id           TEXT PRIMARY KEY NOT NULL,
    turn_id      TEXT NOT NULL REFERENCES turns (id),
    session_id   TEXT NOT NULL REFERENCES chat_sessions (id),
    channel      TEXT NOT NULL,
    room         TEXT NOT NULL,
    thread       TEXT NOT NULL,
    kind         TEXT NOT NULL,
    part         BIGINT NOT NULL,
    state        TEXT NOT NULL,
    text         TEXT NOT NULL,
    message_room TEXT,
    message_id   TEXT,
    reason       TEXT,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
CREATE INDEX deliveries_turn ON deliveries (turn_id);
CREATE INDEX deliveries_unsettled ON deliveries (created_at) WHERE state IN ('intended', 'sent', 'final');

CREATE TABLE chat_tool_calls (
    id         TEXT PRIMARY KEY NOT NULL,
    session_id TEXT NOT NULL,
    turn_id    TEXT NOT NULL,
    call_id    TEXT NOT NULL,
    tool       TEXT NOT NULL,
    class      TEXT NOT NULL,
    arguments  TEXT NOT NULL,
    headline   TEXT NOT NULL,
    state      TEXT NOT NULL,
    found      TEXT,
    evidence   TEXT,
    started_at BIGINT NOT NULL,
    ended_at   BIGINT
);
CREATE INDEX chat_tool_calls_session ON chat_tool_calls (session_id, started_at);

-- No foreign keys: the audit outlives what it tells about.
CREATE TABLE audit_logs (
    id             TEXT PRIMARY KEY NOT NULL,
    at             BIGINT NOT NULL,
    session_id     TEXT NOT NULL,
    turn_id        TEXT NOT NULL,
    call_id        TEXT NOT NULL,
    asker          TEXT NOT NULL,
    persona        TEXT NOT NULL,
    tool           TEXT NOT NULL,
    class          TEXT NOT NULL,
    arguments      TEXT NOT NULL,
    headline       TEXT NOT NULL,
    decision       TEXT NOT NULL,
    outcome        TEXT NOT NULL,
    result_summary TEXT NOT NULL,
    artifact_id    TEXT,
    evidence       TEXT,
    duration_ms    BIGINT NOT NULL
);
CREATE INDEX audit_logs_session ON audit_logs (session_id, at);
CREATE INDEX audit_logs_at ON audit_logs (at);

CREATE TABLE artifacts (
    id         TEXT PRIMARY KEY NOT NULL,
    session_id TEXT NOT NULL,
    turn_id    TEXT NOT NULL,
    call_id    TEXT NOT NULL,
    tool       TEXT NOT NULL,
    evidence   TEXT,
    content    TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX artifacts_evidence ON artifacts (session_id, evidence) WHERE evidence IS NOT NULL;

CREATE TABLE change_events (
    id          TEXT PRIMARY KEY NOT NULL,
    time        BIGINT NOT NULL,
    kind        TEXT NOT NULL,
    title       TEXT NOT NULL,
    service     TEXT,
    author      TEXT,
    url         TEXT,
    details     TEXT,
    received_at BIGINT NOT NULL
);
CREATE INDEX change_events_time ON change_events (time);
CREATE INDEX change_events_service ON change_events (service, time);

-- One row that is rewritten to learn whether the database takes writes.
CREATE TABLE store_probe (
    id     BIGINT PRIMARY KEY NOT NULL,
    checks BIGINT NOT NULL
);
