-- The log: every decision, hash-chained; what records say stands beside what the chain holds of it.

CREATE TABLE records (
    sequence {integer} PRIMARY KEY,    -- 1, 2, 3 … without a gap
    id {text} NOT NULL UNIQUE,
    time {text} NOT NULL,              -- when it was sealed, in UTC; never before the one before it
    clock {text} NOT NULL,             -- what the clock said where it ran behind; else empty
    kind {text} NOT NULL,
    caller {text},                     -- who asked, and whom or what it is about: as the payload
    tag {text},                        -- says, for finding what to erase
    root {text} NOT NULL,              -- hash of the names and commitments of all fields
    seal {text} NOT NULL,              -- hash of the payload as it was written
    link {text} NOT NULL,              -- hash of the link before and of the above
    manifest {text},                   -- names and commitments, once a field was erased
    payload {text} NOT NULL            -- a line a field: salt, name, value; ASCII
);
CREATE INDEX records_kind ON records (kind, sequence);
CREATE INDEX records_time ON records (time);
CREATE INDEX records_caller ON records (caller, sequence) WHERE caller IS NOT NULL;
CREATE INDEX records_tag ON records (tag, sequence) WHERE tag IS NOT NULL;

CREATE TABLE record_head (
    id {integer} PRIMARY KEY CHECK (id = 1),
    log {text} NOT NULL,               -- which log this is; the chain begins with it
    sequence {integer} NOT NULL,       -- of the last record, 0 where there is none
    link {text} NOT NULL,
    time {text} NOT NULL,
    checkpoint {integer} NOT NULL,     -- the last record that a checkpoint was written of, and when
    checkpoint_time {text} NOT NULL
);
INSERT INTO record_head VALUES (1, {random_id}, 0, '', '', 0, '');

-- Checkpoints of other logs, kept here so that who rebuilds one of those is seen.
CREATE TABLE checkpoints (
    id {serial},
    log {text} NOT NULL,
    sequence {integer} NOT NULL,
    body {text} NOT NULL               -- as signed, in JSON
);
CREATE INDEX checkpoints_log ON checkpoints (log, sequence);
