-- Each passage has a kind: the one its document declares, else one inferred from its text.
-- From this version on, versions.kind is empty if the document declares none.

ALTER TABLE passages ADD COLUMN kind {text} NOT NULL DEFAULT 'fact';
UPDATE passages SET kind = (SELECT v.kind FROM versions v WHERE v.id = passages.version_id);

-- The method that inferred the kinds (see kinds.py); they are inferred again when it changes.
ALTER TABLE versions ADD COLUMN kinds_by {text} NOT NULL DEFAULT '';

-- Undeclared kinds were stored as 'fact' before, so each file has to be read again.
UPDATE documents SET stamp = '';
