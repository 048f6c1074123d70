-- Each passage has a kind: the one its document declares, else the one told from its text.
-- From here on versions.kind is empty where the document declares none.

ALTER TABLE passages ADD COLUMN kind {text} NOT NULL DEFAULT 'fact';
UPDATE passages SET kind = (SELECT v.kind FROM versions v WHERE v.id = passages.version_id);

-- What the kinds of its passages were told by (see kinds.py); they are told anew when that changes.
ALTER TABLE versions ADD COLUMN kinds_by {text} NOT NULL DEFAULT '';

-- Until now a kind that was not declared was kept as 'fact': each file is read once more to know.
UPDATE documents SET stamp = '';
