-- A passage has the kind that its document declares; undeclared ones are facts. The index holds
-- kinds too, so it is built again.

ALTER TABLE passages DROP COLUMN kind;
ALTER TABLE versions DROP COLUMN kinds_by;
UPDATE versions SET kind = 'fact' WHERE kind = '';
UPDATE store SET epoch = epoch + 1 WHERE EXISTS (SELECT 1 FROM versions);
