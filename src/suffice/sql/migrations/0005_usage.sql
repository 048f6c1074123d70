-- Recent usage of callers with limits, shared by all processes.

CREATE TABLE usage (
    principal {text} NOT NULL,         -- id of the principal; empty for callers without a key
    width {integer} NOT NULL,          -- length of the bucket in seconds
    bucket {integer} NOT NULL,         -- start of the bucket, in seconds since 1970
    requests {integer} NOT NULL,
    tokens {integer} NOT NULL,
    cost {real} NOT NULL,
    PRIMARY KEY (principal, width, bucket)
);
