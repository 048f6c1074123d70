-- The hash-chained log of all decisions; the payload is stored beside the hashes in the chain.

CREATE TABLE records (
    sequence {integer} PRIMARY KEY,    -- 1, 2, 3 … without gaps
    id {text} NOT NULL UNIQUE,
    time {text} NOT NULL,              -- time of sealing in UTC; never decreases
    clock {text} NOT NULL,             -- clock reading if it was behind; else empty
    kind {text} NOT NULL,
    caller {text},                     -- caller and tag as in the payload, for finding
    tag {text},                        -- records to erase
    root {text} NOT NULL,              -- hash of the names and commitments of all fields
    seal {text} NOT NULL,              -- hash of the payload as written
    link {text} NOT NULL,              -- hash of the previous link and the columns above
    manifest {text},                   -- names and commitments, after an erasure
    payload {text} NOT NULL            -- one line per field: salt, name, value; ASCII
);
CREATE INDEX records_kind ON records (kind, sequence);
CREATE INDEX records_time ON records (time);
CREATE INDEX records_caller ON records (caller, sequence) WHERE caller IS NOT NULL;
CREATE INDEX records_tag ON records (tag, sequence) WHERE tag IS NOT NULL;

CREATE TABLE record_head (
    id {integer} PRIMARY KEY CHECK (id = 1),
    log {text} NOT NULL,               -- id of the log; the chain starts from it
    sequence {integer} NOT NULL,       -- of the last record, 0 if there is none
    link {text} NOT NULL,
    time {text} NOT NULL,
    checkpoint {integer} NOT NULL,     -- last record covered by a checkpoint, and its time
    checkpoint_time {text} NOT NULL
);
INSERT INTO record_head VALUES (1, {random_id}, 0, '', '', 0, '');

-- Checkpoints of other logs, stored here to detect a rebuilt log.
CREATE TABLE checkpoints (
    id {serial},
    log {text} NOT NULL,
    sequence {integer} NOT NULL,
    body {text} NOT NULL               -- the signed JSON
);
CREATE INDEX checkpoints_log ON checkpoints (log, sequence);
