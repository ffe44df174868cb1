-- Personas written over the API, workers that outlive the turn that sent them, and what spectators of a session see.

-- `name` is folded: letters in lower case, `-` for `_`. `definition` is the JSON that was written.
CREATE TABLE agents (
    name       TEXT PRIMARY KEY NOT NULL,
    definition TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- Its report goes into the queue instead of to a call that waits for it.
ALTER TABLE chat_sessions ADD COLUMN background BOOLEAN NOT NULL DEFAULT FALSE;
-- How often a worker was begun: one that brings the process down is not tried for ever.
ALTER TABLE chat_sessions ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0;
-- Opened by the report of a worker and not by a person: it has no placeholder.
ALTER TABLE turns ADD COLUMN follow_up BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE chat_sessions SET status = 'killed' WHERE status = 'stopped';

CREATE TABLE session_events (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id     TEXT NOT NULL,
    turn_id        TEXT NOT NULL,
    parent_task_id TEXT,
    event          TEXT NOT NULL,
    data           TEXT NOT NULL,
    at             BIGINT NOT NULL
);
CREATE INDEX session_events_session ON session_events (session_id, id);
CREATE INDEX session_events_at ON session_events (at);
