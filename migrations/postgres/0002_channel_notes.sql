-- What the adapters of the channels must still know after a restart. `keep` says what may be forgotten.
CREATE TABLE channel_notes (
    channel    TEXT NOT NULL,
    key        TEXT NOT NULL,
    value      TEXT NOT NULL,
    keep       TEXT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (channel, key)
);
CREATE INDEX channel_notes_old ON channel_notes (updated_at) WHERE keep = 'a_while';
