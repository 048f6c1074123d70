-- Webhooks: how far each has read the log, and deliveries that are not done. The body of a delivery
-- is made from its record when it is sent, so an erased record leaves no copy here.

CREATE TABLE webhooks (
    name {text} PRIMARY KEY,
    sequence {integer} NOT NULL        -- the last record turned into deliveries
);
CREATE TABLE deliveries (
    id {text} PRIMARY KEY,             -- the same for all attempts: receivers drop duplicates by it
    webhook {text} NOT NULL,
    event {text} NOT NULL,
    record {text} NOT NULL,            -- id of the record
    state {text} NOT NULL,             -- 'waiting' or 'dead'
    attempts {integer} NOT NULL,
    due {real} NOT NULL,               -- next attempt, or the end of a claim, in seconds since 1970
    created {text} NOT NULL,
    problem {text} NOT NULL            -- why the last attempt failed
);
CREATE INDEX deliveries_due ON deliveries (state, due);
