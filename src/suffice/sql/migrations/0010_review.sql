-- The review queue as a table, to filter, count and sort it. It is derived from the log: if both
-- tables are emptied and the place is set to 0, the next look at the queue fills them again.

CREATE TABLE review_cases (
    record {text} PRIMARY KEY,         -- id of the decision
    sequence {integer} NOT NULL,       -- of the record that queued it
    waiting {integer} NOT NULL,        -- 1: open or assigned, 0: decided or dismissed
    state {text} NOT NULL,
    priority {integer} NOT NULL,
    why {text} NOT NULL,               -- reasons, each between spaces
    assignee {text} NOT NULL,          -- empty: nobody
    scope {integer} NOT NULL           -- id in decision_scopes; 0: unknown
);
CREATE INDEX review_cases_priority ON review_cases (waiting, priority DESC, sequence);
CREATE INDEX review_cases_sequence ON review_cases (waiting, sequence);
CREATE INDEX review_cases_counts ON review_cases (scope, state, why, assignee);

CREATE TABLE review_place (
    id {integer} PRIMARY KEY CHECK (id = 1),
    sequence {integer} NOT NULL        -- last record of the log that is in the table
);
INSERT INTO review_place VALUES (1, 0);
