-- The monitor's state and the time of its weekly sample move to the table of followers.

INSERT INTO followers SELECT 'monitor',
    CASE WHEN body = '' THEN 0 ELSE json_extract(body, '$.sequence') END, body FROM monitor;
INSERT INTO followers SELECT 'weekly_sample', 0,
    CASE WHEN body = '' THEN '' ELSE coalesce(json_extract(body, '$.sampled'), '') END FROM monitor;
DROP TABLE monitor;
