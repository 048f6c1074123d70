-- A document is its name with its access labels: documents of one name and different labels know
-- nothing of each other.

ALTER TABLE documents ADD COLUMN access {text} NOT NULL DEFAULT '[]';
ALTER TABLE documents DROP CONSTRAINT documents_collection_name_key;
ALTER TABLE documents ADD UNIQUE (collection, name, access);
UPDATE documents d SET access = coalesce(
    (SELECT v.access FROM versions v WHERE v.document_id = d.id
     ORDER BY v.sequence DESC LIMIT 1), '[]');
ALTER TABLE documents ALTER COLUMN access DROP DEFAULT;

-- Earlier contents with other labels become documents of their own, retired when they were replaced.
INSERT INTO documents (collection, name, access, root, stamp, retired_on, retired_by)
    SELECT DISTINCT d.collection, d.name, v.access, d.root, '',
        coalesce(d.retired_on, (SELECT n.seen FROM versions n WHERE n.document_id = d.id
                                ORDER BY n.sequence DESC LIMIT 1)),
        coalesce(d.retired_by, 'vanished')
    FROM versions v JOIN documents d ON d.id = v.document_id WHERE v.access <> d.access;
UPDATE versions SET document_id = (
    SELECT o.id FROM documents d JOIN documents o ON o.collection = d.collection AND o.name = d.name
    WHERE d.id = versions.document_id AND o.access = versions.access);
ALTER TABLE versions DROP COLUMN access;

-- The rule by which the days in force were computed; the store computes older ones again.
ALTER TABLE store ADD COLUMN force_rule {integer} NOT NULL DEFAULT 0;
UPDATE store SET force_rule = 1 WHERE NOT EXISTS (SELECT 1 FROM versions);
