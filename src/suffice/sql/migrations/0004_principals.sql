-- Who may ask, and what: API keys now, accounts later. No secret is kept, only its hash.

CREATE TABLE principals (
    id {text} PRIMARY KEY,             -- the part of a key that is no secret; it is found by it
    kind {text} NOT NULL,              -- 'key'
    name {text} NOT NULL,              -- what records are filed under
    hash {text} NOT NULL,              -- "sha256:…" of the key as it was shown
    roles {text} NOT NULL,             -- JSON lists, sorted
    labels {text} NOT NULL,
    collections {text} NOT NULL,
    routes {text} NOT NULL,
    limits {text} NOT NULL,            -- a JSON object: name to number
    created {text} NOT NULL,
    revoked {text}                     -- when; NULL: in use
);
CREATE UNIQUE INDEX principals_name ON principals (name) WHERE revoked IS NULL;
