-- What callers with limits asked for lately, so that all processes count together.

CREATE TABLE usage (
    principal {text} NOT NULL,         -- whose; empty: callers without a key
    width {integer} NOT NULL,          -- seconds that a row stands for
    bucket {integer} NOT NULL,         -- when these began, in seconds since 1970
    requests {integer} NOT NULL,
    tokens {integer} NOT NULL,
    cost {real} NOT NULL,
    PRIMARY KEY (principal, width, bucket)
);
