-- Principals and their rights: API keys. Only the hash of a secret is stored.

CREATE TABLE principals (
    id {text} PRIMARY KEY,             -- the public part of a key, used for lookup
    kind {text} NOT NULL,              -- 'key'
    name {text} NOT NULL,              -- caller name in records
    hash {text} NOT NULL,              -- "sha256:…" of the whole key
    roles {text} NOT NULL,             -- JSON lists, sorted
    labels {text} NOT NULL,
    collections {text} NOT NULL,
    routes {text} NOT NULL,
    limits {text} NOT NULL,            -- JSON object: name to number
    created {text} NOT NULL,
    revoked {text}                     -- time of revocation; NULL while active
);
CREATE UNIQUE INDEX principals_name ON principals (name) WHERE revoked IS NULL;
