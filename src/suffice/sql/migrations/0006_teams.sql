-- Keys that expire, teams whose keys share a budget, and totals for the usage report.

ALTER TABLE principals ADD COLUMN expires {text};  -- time from which the key is refused
ALTER TABLE principals ADD COLUMN team {text};     -- name of its team

CREATE TABLE teams (
    name {text} PRIMARY KEY,
    limits {text} NOT NULL,            -- JSON object: name to number, shared by the team's keys
    created {text} NOT NULL
);

-- What was used on a day, by key, team, end user and model; an empty text means none.
CREATE TABLE usage_totals (
    day {text} NOT NULL,               -- in UTC: 2026-01-31
    caller {text} NOT NULL,            -- name of the key
    team {text} NOT NULL,
    end_user {text} NOT NULL,          -- as records name the person
    model {text} NOT NULL,
    requests {integer} NOT NULL,
    errors {integer} NOT NULL,         -- those answered with a status of 400 or more
    tokens_in {integer} NOT NULL,
    tokens_out {integer} NOT NULL,
    cost {real} NOT NULL,
    serve {integer} NOT NULL,          -- verdicts
    caveat {integer} NOT NULL,
    conflict {integer} NOT NULL,
    withhold {integer} NOT NULL,
    review {integer} NOT NULL,
    PRIMARY KEY (day, caller, team, end_user, model)
);
