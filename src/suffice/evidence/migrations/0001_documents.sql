-- Documents, their versions, their passages, and the vectors of what was embedded.

CREATE TABLE store (
    id TEXT NOT NULL,                -- an index of another store is never searched
    epoch INTEGER NOT NULL           -- counts up when passages are cut anew; the index follows
);
INSERT INTO store VALUES (lower(hex(randomblob(16))), 1);

CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    collection TEXT NOT NULL,
    name TEXT NOT NULL,
    root TEXT NOT NULL,              -- the folder (or file) it came from
    stamp TEXT NOT NULL,             -- time, size and settings of the last reading: equal = unchanged
    retired_on TEXT,
    retired_by TEXT,                 -- 'person' or 'vanished'
    UNIQUE (collection, name)
);

CREATE TABLE versions (
    id INTEGER PRIMARY KEY,
    document_id INTEGER NOT NULL REFERENCES documents (id),
    key TEXT NOT NULL,               -- declared version and content: "2.1+3fa9c2d1"
    label TEXT NOT NULL,             -- what a reader is shown: "2.1"
    title TEXT NOT NULL,
    kind TEXT NOT NULL,
    access TEXT NOT NULL,            -- JSON list
    effective TEXT,
    expires TEXT,
    family TEXT NOT NULL,            -- versions of one document share it, whatever their files
    text TEXT NOT NULL,              -- the source text all offsets point into
    content_hash TEXT NOT NULL,
    file_date TEXT NOT NULL,
    seen TEXT NOT NULL,              -- the day this content was first read
    sequence INTEGER NOT NULL,       -- order of reading
    force_from TEXT NOT NULL,        -- in force on days d with force_from <= d < force_until
    force_until TEXT NOT NULL,
    changed INTEGER NOT NULL         -- counts up; an index knows up to which change it has read
);
CREATE INDEX versions_document ON versions (document_id, sequence);
CREATE INDEX versions_family ON versions (family);
CREATE INDEX versions_changed ON versions (changed);

CREATE TABLE passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- the point's number in the search index, never reused
    name TEXT NOT NULL,              -- the public id: document@version#start-end
    version_id INTEGER NOT NULL REFERENCES versions (id),
    "start" INTEGER NOT NULL,
    "end" INTEGER NOT NULL,
    heading TEXT NOT NULL,           -- JSON list
    page INTEGER,
    text TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    input_hash TEXT NOT NULL         -- of what was embedded: text with title and headings
);
CREATE INDEX passages_version ON passages (version_id);
CREATE INDEX passages_name ON passages (name);

CREATE TABLE vectors (
    input_hash TEXT NOT NULL,
    model TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (input_hash, model)
);
