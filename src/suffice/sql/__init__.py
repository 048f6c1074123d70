"""One schema in two databases: a SQLite file by default, PostgreSQL by URL."""
