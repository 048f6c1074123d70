-- An index of the decisions in the log, to filter and count them without reading payloads. It is
-- derived from the log: to build it again, empty these tables and set decision_index to 0.

CREATE TABLE decision_index (
    id {integer} PRIMARY KEY CHECK (id = 1),
    sequence {integer} NOT NULL        -- last record of the log that was read
);
INSERT INTO decision_index VALUES (1, 0);

-- Who may know of a decision: the collections and access labels of all its passages. The review
-- queue refers to them too. They can be too long for an index, so the key is a digest.
CREATE TABLE decision_scopes (
    id {integer} PRIMARY KEY,          -- digest of the body
    body {text} NOT NULL               -- JSON: [[collection, [label, …]], …]; null: not stored
);
INSERT INTO decision_scopes VALUES (0, 'null');

CREATE TABLE decisions (
    sequence {integer} PRIMARY KEY,
    id {text} NOT NULL,
    time {text} NOT NULL,
    action {text} NOT NULL,            -- of the verdict; 'GATE' if only the gate decided
    level {text} NOT NULL,             -- of the gate
    caller {text},
    scope {integer} NOT NULL,
    question {text} NOT NULL,          -- this and released: empty if not stored or erased
    released {text} NOT NULL,
    confidence {real},
    seconds {real}
);
CREATE INDEX decisions_id ON decisions (id);
CREATE INDEX decisions_time ON decisions (time, sequence);
CREATE INDEX decisions_action ON decisions (action, sequence);
CREATE INDEX decisions_caller ON decisions (caller, sequence) WHERE caller IS NOT NULL;

-- The documents that decisions used as evidence, with counts.
CREATE TABLE decision_sources (
    id {integer} PRIMARY KEY,          -- digest of the next four columns
    collection {text} NOT NULL,
    document {text} NOT NULL,
    version {text} NOT NULL,
    access {text} NOT NULL,            -- JSON list
    used {integer} NOT NULL,
    cited {integer} NOT NULL,
    last_used {text} NOT NULL,
    last_cited {text} NOT NULL
);
CREATE INDEX decision_sources_document ON decision_sources (document, collection);
CREATE TABLE decision_uses (
    source {integer} NOT NULL,
    sequence {integer} NOT NULL,
    cited {integer} NOT NULL,
    PRIMARY KEY (source, sequence)
);
CREATE INDEX decision_uses_sequence ON decision_uses (sequence);

-- Counts and sums by day and by hour.
CREATE TABLE decision_tallies (
    width {integer} NOT NULL,          -- seconds: 3600 or 86400
    bucket {text} NOT NULL,            -- "2026-01-31T12" or "2026-01-31"
    scope {integer} NOT NULL,
    name {text} NOT NULL,              -- "verdict.SERVE", "metric.faithfulness", "stage.gate", …
    count {integer} NOT NULL,
    total {real} NOT NULL,
    PRIMARY KEY (width, bucket, scope, name)
);
