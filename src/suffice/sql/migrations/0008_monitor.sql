-- The monitor: its state, written by one updater at a time, and the jobs that wait for a worker.

CREATE TABLE monitor (
    id {integer} PRIMARY KEY CHECK (id = 1),
    version {integer} NOT NULL,        -- grows with each update; an update of an older one fails
    body {text} NOT NULL               -- the state as JSON
);
INSERT INTO monitor VALUES (1, 0, '');
CREATE TABLE monitor_jobs (
    id {text} PRIMARY KEY,             -- kind and id of the record it is about
    kind {text} NOT NULL,              -- 'deep_check' or 'mail'
    record {text} NOT NULL,
    due {real} NOT NULL,               -- next attempt, or the end of a claim, in seconds since 1970
    attempts {integer} NOT NULL,
    problem {text} NOT NULL            -- why the last attempt failed
);
CREATE INDEX monitor_jobs_due ON monitor_jobs (due);
