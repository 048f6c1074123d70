"""The record: every decision kept so that nobody can change it unnoticed."""
