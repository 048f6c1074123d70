"""Records in the form of JSON, and sentences that say them right, wrong, or more than they hold.

Answers written from structured data go wrong in their own way: a null read as "no", hours of one
day said of the whole week, a category nobody stated. These rows are drawn, not collected.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

from suffice.text.tables import flatten

SUPPORTED, NOT_MENTIONED, CONTRADICTED, NOT_SUPPORTED = 0, 1, 2, 3
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_FIRST = (
    "Blue Golden Old Harbor Maple Sunny Twin Red Silver Green Corner Little Grand Lucky".split()
)
_SECOND = (
    "Fork Table Garden Oven Spoon Anchor Lantern Kitchen Barrel Olive Dragon Bakery Grill".split()
)
_STREETS = "Main St|State St|Hollister Ave|Market Street|Oak Lane|5th Avenue|Cabrillo Blvd".split(
    "|"
)
_CITIES = [
    ("Santa Barbara", "CA"),
    ("Goleta", "CA"),
    ("Tampa", "FL"),
    ("Reno", "NV"),
    ("Tucson", "AZ"),
]
_KINDS = (
    "Italian|Mexican|Sushi Bars|Burgers|Coffee & Tea|Breakfast & Brunch|Seafood|Pizza|Thai|Vegan|"
    "Sandwiches|Bakeries|Steakhouses|Wine Bars|Vietnamese|Indian|Barbeque|Delis|Ice Cream"
).split("|")
_ATTRIBUTES = {
    "RestaurantsReservations": ("accepts reservations", "does not accept reservations"),
    "OutdoorSeating": ("offers outdoor seating", "has no outdoor seating"),
    "RestaurantsTakeOut": ("offers takeout", "does not offer takeout"),
    "RestaurantsGoodForGroups": ("is suitable for groups", "is not suitable for groups"),
    "Music": ("features live music", "does not offer music"),
    "RestaurantsDelivery": ("delivers", "does not deliver"),
    "WheelchairAccessible": ("is wheelchair accessible", "is not wheelchair accessible"),
}
_PARKING = ("garage", "street", "validated", "lot", "valet")
_AMBIENCE = "romantic intimate classy hipster divey touristy trendy upscale casual".split()
_PRAISE = (
    "the pasta|the friendly staff|the fresh fish tacos|the view|the quick service|the desserts|"
    "the coffee|the generous portions|the cocktails|the cozy patio|the bread|the burgers"
).split("|")
_BLAME = (
    "slow service|cold food|long waiting times|high prices|rude staff|noisy tables|small portions|"
    "dirty tables|a wrong order|watery soup"
).split("|")


def record_rows(count: int, seed: int, noise: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    """`count` triples of claim, evidence and class; reviews hold sentences of `noise` too."""
    draw = random.Random(seed)
    makers = (_place, _category, _hours, _attribute, _parking, _ambience, _stars, _reviews, _wifi)
    while count > 0:
        record = _record(draw, noise)
        evidence = flatten(json.dumps(record))
        made = [one for make in draw.sample(makers, 7) if (one := make(record, draw))]
        while made and count > 0:
            several = draw.choice((1, 1, 1, 2, 3))
            taken, made = made[:several], made[several:]
            yield _joined([text for text, _ in taken], draw), evidence, _together(taken)
            count -= 1


def _joined(texts: Sequence[str], draw: random.Random) -> str:
    """Several facts as one sentence, the way an answer lists them."""
    if len(texts) == 1:
        return texts[0]
    first, *rest = (text.rstrip(".") for text in texts)
    rest = [re.sub(r"^(It|The restaurant|The establishment) ", "it ", text) for text in rest]
    return f"{first}{draw.choice((', and ', ' and ', '; ', ', while '))}{', '.join(rest)}."


def _together(made: Sequence[tuple[str, int]]) -> int:
    classes = {label for _, label in made}
    if classes == {SUPPORTED}:
        return SUPPORTED
    wrong = classes - {SUPPORTED}
    return wrong.pop() if len(wrong) == 1 else NOT_SUPPORTED


def _record(draw: random.Random, noise: Sequence[str]) -> dict[str, Any]:
    city, state = draw.choice(_CITIES)
    usual = _span(draw)
    hours: dict[str, str] | None = {
        day: usual if draw.random() < 0.75 else _span(draw) for day in _DAYS if draw.random() < 0.93
    }
    three = (True, False, None)
    return {
        "name": f"{draw.choice(_FIRST)} {draw.choice(_SECOND)}",
        "address": f"{draw.randint(2, 990)} {draw.choice(_STREETS)}",
        "city": city,
        "state": state,
        "categories": ", ".join(draw.sample(_KINDS, draw.randint(1, 5))),
        "hours": hours if draw.random() < 0.9 else None,
        "attributes": {
            "BusinessParking": {kind: draw.random() < 0.4 for kind in _PARKING},
            **{name: draw.choice(three) for name in _ATTRIBUTES if draw.random() < 0.8},
            "WiFi": draw.choice(("free", "no", "paid", None)),
            "Ambience": {kind: draw.random() < 0.2 for kind in _AMBIENCE},
        },
        "business_stars": draw.choice((2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)),
        "review_info": [_review(draw, noise) for _ in range(draw.randint(1, 3))],
    }


def _span(draw: random.Random) -> str:
    opens, closes = draw.randint(6, 17), draw.randint(18, 23)
    return f"{opens}:{draw.choice((0, 30))}-{closes}:{draw.choice((0, 30))}"


def _review(draw: random.Random, noise: Sequence[str]) -> dict[str, Any]:
    good, bad = draw.choice(_PRAISE), draw.choice(_BLAME)
    kind = draw.random()
    if kind < 0.5:
        text = f"We loved {good}. Will come back soon with friends."
    elif kind < 0.75:
        text = f"Disappointing visit because of {bad}. Not sure we return."
    else:
        text = f"I enjoyed {good}, but there was {bad} this time."
    parts = [text, *draw.sample(noise, min(len(noise), draw.randint(0, 4)))]
    draw.shuffle(parts)
    return {"review_stars": draw.choice((1.0, 3.0, 5.0)), "review_text": " ".join(parts)}


def _subject(record: dict[str, Any], draw: random.Random) -> str:
    return str(draw.choice((record["name"], "The restaurant", "It", "The establishment")))


def _place(record: dict[str, Any], draw: random.Random) -> tuple[str, int]:
    right = draw.random() < 0.5
    address = record["address"] if right else f"{draw.randint(2, 990)} {draw.choice(_STREETS)}"
    text = f"{record['name']} is located at {address} in {record['city']}, {record['state']}."
    return text, SUPPORTED if address == record["address"] else CONTRADICTED


def _category(record: dict[str, Any], draw: random.Random) -> tuple[str, int]:
    stated = record["categories"].split(", ")
    right = draw.random() < 0.5
    kind = draw.choice(stated) if right else draw.choice([k for k in _KINDS if k not in stated])
    form = draw.choice(
        ("offers {}", "is known for {}", "falls under the category of {}", "serves {}")
    )
    return f"{_subject(record, draw)} {form.format(kind)}.", SUPPORTED if right else NOT_MENTIONED


def _hours(record: dict[str, Any], draw: random.Random) -> tuple[str, int] | None:
    hours = record["hours"]
    subject = _subject(record, draw)
    if hours is None:
        return f"{subject} is open daily from 9:00 to 17:00.", NOT_MENTIONED
    if draw.random() < 0.35:
        days = _DAYS[: draw.choice((5, 6, 7))]
        span = hours.get(days[0])
        if span is None:
            return None
        same = all(hours.get(day) == span for day in days)
        text = f"{subject} is open from {days[0]} to {days[-1]} from {_clock(span, draw)}."
        return text, SUPPORTED if same else CONTRADICTED
    day = draw.choice(_DAYS)
    if day not in hours:
        return f"{subject} is open on {day} from {_clock(_span(draw), draw)}.", NOT_MENTIONED
    span = hours[day] if draw.random() < 0.5 else _span(draw)
    text = f"On {day}, {subject.lower()} is open from {_clock(span, draw)}."
    return text, SUPPORTED if span == hours[day] else CONTRADICTED


def _clock(span: str, draw: random.Random) -> str:
    """A span of hours as people write it."""
    style = draw.randrange(3)
    ends = []
    for end in span.split("-"):
        hour, minute = map(int, end.split(":"))
        if style == 0:
            ends.append(f"{hour}:{minute:02}")
        else:
            minutes = f":{minute:02}" if minute or style == 1 else ""
            ends.append(f"{(hour - 1) % 12 + 1}{minutes} {'AM' if hour < 12 else 'PM'}")
    return " to ".join(ends)


def _attribute(record: dict[str, Any], draw: random.Random) -> tuple[str, int]:
    name = draw.choice(list(_ATTRIBUTES))
    value = record["attributes"].get(name)
    says_yes = draw.random() < 0.5
    text = f"{_subject(record, draw)} {_ATTRIBUTES[name][0 if says_yes else 1]}."
    if value is None:
        return text, NOT_MENTIONED
    return text, SUPPORTED if value == says_yes else CONTRADICTED


def _parking(record: dict[str, Any], draw: random.Random) -> tuple[str, int]:
    parking = record["attributes"]["BusinessParking"]
    one, other = draw.sample(_PARKING, 2)
    both = draw.random() < 0.4
    kinds = f"{one} and {other} parking" if both else f"{one} parking"
    right = parking[one] and (parking[other] or not both)
    return f"{_subject(record, draw)} has {kinds}.", SUPPORTED if right else CONTRADICTED


def _ambience(record: dict[str, Any], draw: random.Random) -> tuple[str, int]:
    ambience = record["attributes"]["Ambience"]
    kind = draw.choice(_AMBIENCE)
    form = draw.choice(("The ambience is {}.", "It has a {} atmosphere.", "The setting is {}."))
    return form.format(kind), SUPPORTED if ambience[kind] else CONTRADICTED


def _stars(record: dict[str, Any], draw: random.Random) -> tuple[str, int]:
    right = draw.random() < 0.5
    stars = record["business_stars"]
    claimed = stars if right else draw.choice([s for s in (2.0, 3.0, 3.5, 4.0, 5.0) if s != stars])
    return f"It has a rating of {claimed} stars.", SUPPORTED if claimed == stars else CONTRADICTED


def _reviews(record: dict[str, Any], draw: random.Random) -> tuple[str, int]:
    texts = " ".join(review["review_text"] for review in record["review_info"])
    pool, verb = draw.choice(((_PRAISE, "praise"), (_BLAME, "complain about")))
    there = [thing for thing in pool if thing in texts]
    right = bool(there) and draw.random() < 0.5
    thing = draw.choice(there) if right else draw.choice([t for t in pool if t not in texts])
    who = draw.choice(("Customers", "Reviewers", "Some guests"))
    return f"{who} {verb} {thing}.", SUPPORTED if right else NOT_MENTIONED


def _wifi(record: dict[str, Any], draw: random.Random) -> tuple[str, int]:
    wifi = record["attributes"]["WiFi"]
    claimed = draw.choice(("free", "no"))
    text = "It provides free WiFi." if claimed == "free" else "It does not offer WiFi."
    if wifi is None:
        return text, NOT_MENTIONED
    return text, SUPPORTED if wifi == claimed else CONTRADICTED
