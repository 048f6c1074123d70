-- The review site: sessions of people who signed in, and failed attempts to sign in. Accounts are
-- principals of the kind 'account', whose hash is that of a password (argon2).

CREATE TABLE sessions (
    hash {text} PRIMARY KEY,           -- "sha256:…" of the token in the cookie
    principal {text} NOT NULL,         -- id of the key or account
    created {text} NOT NULL,
    seen {text} NOT NULL,              -- last request, at most a minute late
    expires {text} NOT NULL            -- absolute end, whether used or not
);
CREATE INDEX sessions_principal ON sessions (principal);
CREATE INDEX sessions_expires ON sessions (expires);
CREATE TABLE sign_in_failures (
    subject {text} PRIMARY KEY,        -- the account or the address
    failures {integer} NOT NULL,       -- since the last success
    last {real} NOT NULL               -- time of the last one, in seconds since 1970
);
