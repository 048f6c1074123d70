-- Documents, their versions, their passages, and the embedding vectors.

CREATE TABLE store (
    id {text} NOT NULL,                -- prevents searching the index of another store
    epoch {integer} NOT NULL           -- incremented when passages are split again; the index follows
);
INSERT INTO store VALUES ({random_id}, 1);

CREATE TABLE documents (
    id {serial},
    collection {text} NOT NULL,
    name {text} NOT NULL,
    root {text} NOT NULL,              -- the folder (or file) it came from
    stamp {text} NOT NULL,             -- file time, size and settings when last read: equal = unchanged
    retired_on {text},
    retired_by {text},                 -- 'person' or 'vanished'
    UNIQUE (collection, name)
);

CREATE TABLE versions (
    id {serial},
    document_id {integer} NOT NULL REFERENCES documents (id),
    key {text} NOT NULL,               -- declared version and content: "2.1+3fa9c2d1"
    label {text} NOT NULL,             -- version shown to readers: "2.1"
    title {text} NOT NULL,
    kind {text} NOT NULL,
    access {text} NOT NULL,            -- JSON list
    effective {text},
    expires {text},
    family {text} NOT NULL,            -- shared by all versions of a document, even in different files
    text {text} NOT NULL,              -- the source text all offsets point into
    content_hash {text} NOT NULL,
    file_date {text} NOT NULL,
    seen {text} NOT NULL,              -- the day this content was first read
    sequence {integer} NOT NULL,       -- order of reading
    force_from {text} NOT NULL,        -- in force on days d with force_from <= d < force_until
    force_until {text} NOT NULL,
    changed {integer} NOT NULL         -- change counter; an index stores the last change it has read
);
CREATE INDEX versions_document ON versions (document_id, sequence);
CREATE INDEX versions_family ON versions (family);
CREATE INDEX versions_changed ON versions (changed);

CREATE TABLE passages (
    id {serial_never_reused},  -- the point's number in the search index, never reused
    name {text} NOT NULL,              -- the public id: document@version#start-end
    version_id {integer} NOT NULL REFERENCES versions (id),
    "start" {integer} NOT NULL,
    "end" {integer} NOT NULL,
    heading {text} NOT NULL,           -- JSON list
    page {integer},
    text {text} NOT NULL,
    content_hash {text} NOT NULL,
    input_hash {text} NOT NULL         -- hash of the embedded text, with title and headings
);
CREATE INDEX passages_version ON passages (version_id);
CREATE INDEX passages_name ON passages (name);

CREATE TABLE vectors (
    {rowid}
    input_hash {text} NOT NULL,
    model {text} NOT NULL,
    vector {blob} NOT NULL,
    PRIMARY KEY (input_hash, model)
);
