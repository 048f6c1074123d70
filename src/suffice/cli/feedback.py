"""`suffice feedback`: store a user's rating of an answer."""

from __future__ import annotations

import click

from suffice.cli import as_json as to_json
from suffice.cli.of_store import of_store, open_log
from suffice.cli.recording import user
from suffice.review.case import Rating
from suffice.review.review import Review
from suffice.settings import read_settings


@click.command()
@click.argument("id")
@click.argument("rating", type=click.Choice([item.value for item in Rating]), metavar="up|down")
@click.option("--comment", default="", help="Comment in free text.")
@click.option("--by", default=user, help="Author of the rating (default: your user name).")
@of_store
def feedback(
    id: str,
    rating: str,
    comment: str,
    by: str,
    config: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Rate the answer with this record ID or number."""
    log = open_log(read_settings(config), store)
    kept = Review(log).feedback(id, Rating(rating), comment, by)
    to_json.show({"record": kept}) if as_json else click.echo(f"Record {kept}")
    return 0
