"""The store's database: one schema for a SQLite file (default) and PostgreSQL (by URL)."""
