-- One table says how far each follower of the log has read it. It replaces the cursors of the
-- review queue, the index of decisions, the webhooks and the checkpoints.

CREATE TABLE followers (
    name {text} PRIMARY KEY,           -- 'queue', 'decisions', 'webhook ' and its name, …
    sequence {integer} NOT NULL,       -- last record of the log that was read; 0 reads all again
    state {text} NOT NULL              -- what else the follower knows, such as a time or JSON
);
INSERT INTO followers SELECT 'queue', sequence, '' FROM review_place;
INSERT INTO followers SELECT 'decisions', sequence, '' FROM decision_index;
INSERT INTO followers SELECT 'webhook ' || name, sequence, '' FROM webhooks;
INSERT INTO followers SELECT 'checkpoints', checkpoint, checkpoint_time FROM record_head;
DROP TABLE review_place;
DROP TABLE decision_index;
DROP TABLE webhooks;
ALTER TABLE record_head DROP COLUMN checkpoint;
ALTER TABLE record_head DROP COLUMN checkpoint_time;
