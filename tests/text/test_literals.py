"""Literals are read as values: equal notations are equal, changed values are not."""

from __future__ import annotations

import pytest

from suffice.text.literals import Literal, literals, same_value

EQUAL = """
four million dollars = $4,000,000
$4.2M = $4.2 million
$4.2M = 4.2 million dollars
$4.2m = USD 4,200,000
£4.2m = 4.2 million pounds sterling
€3k = 3,000 euros
€3k = EUR 3000
1.5bn euros = €1,500,000,000
$1.5B = one and a half billion dollars
CHF 250 = 250 Swiss francs
¥5000 = 5,000 yen
50 cents = $0.50
half a million dollars = $500,000
140 euros = €140
0,32 euros = €0.32
five (5) days = 5 days
140 euros = 140 EUR
1,200 employees = 1200 employees
1,200 employees = 1 200 employees
1.200,50 euros = €1,200.50
twenty-five people = 25 people
twenty five people = 25 people
one hundred and five people = 105 people
two thousand three hundred users = 2,300 users
four million users = 4M users
4.2m users = 4,200,000 users
a dozen eggs = 12 eggs
two dozen eggs = 24 eggs
half a dozen eggs = six eggs
a hundred people = 100 people
3.0 stars = 3 stars
minus 3 degrees = -3 degrees
negative 3 degrees = −3 degrees
14 % = 14 percent
14% = 14 per cent
14% = fourteen percent
half of the staff = 50 percent of the staff
a quarter of the staff = 25% of the staff
three quarters of the staff = 75 %
two thirds of the staff = 66.7 percent
two thirds of the staff = 67%
two-thirds of the staff = two thirds of the staff
1 in 5 people = 20 percent
one in five people = 20%
8 out of 10 people = 80 %
3 percentage points = three percentage points
50 basis points = 0.5 percentage points
two weeks = 14 days
two weeks = 14 calendar days
16 weeks = 16-week
one year = 12 months
two years = 24 months
two decades = 20 years
one and a half years = 18 months
two and a half hours = 150 minutes
half an hour = 30 minutes
72 hours = three days
2 hours and 30 minutes = 150 minutes
1 year and 6 months = 18 months
90 seconds = 1.5 minutes
ten working days = 10 business days
5 consecutive days = five days
1.5 km = 1,500 metres
1.5 km = 1500 m
2 kg = 2,000 grams
500 mg = 0.5 g
5 feet 10 inches = 70 inches
1 GB = 1,000 MB
5 litres = 5000 ml
20 °C = 68 °F
20 degrees Celsius = 20°C
60 mph = 60 miles per hour
60 mph = 96.56064 km/h
36 km/h = 10 m/s
5 kg = 5 KG
90 minutes = 1.5 Hours
2 kW = 2,000 W
5 KWH = 5 kWh
1 kWh = 3.6 MJ
1 mile = 1.609344 km
1 GiB = 1,024 MiB
8 Mb = 1 MB
100 °C = 212 °F
32 °F = 0 °C
500 µg = 0.5 mg
500 μg = 0.5 mg
1 acre = 4,046.8564224 m2
500 IU = 500 IU
5 South African rand = ZAR 5
20 Norwegian kroner = NOK 20
₪20 = 20 Israeli new shekels
100 square metres = 100 m²
1 March 2025 = 2025-03-01
1 March 2025 = March 1st, 2025
1 March 2025 = March 1, 2025
1st of March 2025 = 1 March 2025
1 Mar 2025 = 1 March 2025
Sept. 5, 2024 = 5 September 2024
01.03.2025 = 1 March 2025
25/12/2024 = 25 December 2024
12/25/2024 = 25 December 2024
03/04/2025 = 3 April 2025
03/04/2025 = 4 March 2025
March 2024 = 12 March 2024
March 2024 = 2024-03
in 2024 = 12 March 2024
31 March = March 31
31 March = 31 March 2025
in October = October 2024
Q3 2020 = third quarter of 2020
Q3 2020 = the third quarter of fiscal 2020
every Friday = on Fridays
the 1990s = the 1990’s
9 a.m. = 09:00
9 am = 9:00 a.m.
9:30 pm = 21:30
9.30 pm = 21:30
noon = 12:00
midnight = 00:00
12 a.m. = midnight
12 p.m. = noon
9 o'clock = 9 am
5pm = 17:00
the 4th floor = the fourth floor
the 21st day = the twenty-first day
version 2.1 = v2.1
version 3.0.1 = 3.0.1
release 2.1 = version 2.1
ISO 27001:2022 = ISO/IEC 27001:2022
ISO 27001 = ISO 27001:2022
Article 17 = article 17
Art. 17 = Article 17
Section 4.2 = Sec. 4.2
Section 4.2 = § 4.2
form ON-3 = Form ON-3
ON-3 = form ON-3
Chapter IV = Chapter 4
INV-2024-117 = INV-2024-117
+00 555 0142 = +00-555-0142
www.example.org = https://example.org/
A@Example.org = a@example.org
10 to 15 days = 10–15 days
10 to 15 days = between ten and fifteen days
10-15 days = from 10 to 15 days
between 5 and 8 percent = 5% to 8%
between 5 and 8 percent = 5–8 %
$4 to 5 million = $4–5 million
1 to 2 weeks = 7 to 14 days
3:1 = 3 : 1
twice a year = two times a year
3x = three times
at least 5 days = no less than 5 days
at least 5 days = 5 days or more
at least 5 days = a minimum of 5 days
at least 5 people = 5+ people
more than 5 days = over 5 days
more than 5 days = exceeds 5 days
more than 5 days = longer than five days
at most 5 days = up to 5 days
at most 5 days = no more than five days
at most 5 days = a maximum of 5 days
at most 5 days = not exceeding 5 days
within 30 days = at most 30 days
less than 5 hours = under 5 hours
less than 5 hours = below 5 hours
about 5 days = approximately 5 days
about 5 days = 5 days
by 1 March = until 1 March
18 euros per month = €18 a month
18 euros per month = 18 euros monthly
“the whole truth” = "The whole truth"
met Dana Okell = saw Dana Okell's
met Okell = saw Dana Okell
for a year and a half = 18 months
lasts a decade = 10 years
five and half years = 66 months
a quarter of a million euros = €250,000
50 km per hour = 50 km/h
9 in the morning = 9 a.m.
8 in the evening = 20:00
is done weekly. = is done once a week
is done every month = is done once a month
is done twice = is done two times
one coach = 1 coach
may not be higher than 5 euros = up to 5 euros
may carry over 5 days = 5 days
"""

UNEQUAL = """
for a year = for two years
is done weekly. = is done monthly.
is done twice = is done three times
one coach = two coaches
$4.2M = $4.3M
$4.2M = €4.2M
$4.2M = $4.2 billion
$4.2M = $42M
$4.2M = $4.2
14 % = 15 %
14 % = 14 percentage points
14 % = $14
16 weeks = 18 weeks
16 weeks = 16 months
16 weeks = 16 days
one month = 30 days
10 days = ten working days
1.5 km = 1.5 miles
2 kg = 2 g
500 mg = 500 IU
500 IU = 500 mEq
5 MW = 5 mW
5 MW = 5 mw
5 Mb = 5 MB
5 gb = 5 GB
5 mg = 5 Mg
5 nm = 5 NM
0.5 nm = 0.3 nm
100 Mbps = 100 Gbps
5 tons = 5 tonnes
360 days = 1 year
5 nights = 5 days
20 degrees = 20 °F
20 °C = 20 °F
-3 degrees = 3 degrees
minus 3 degrees = 3 degrees
1,200 employees = 1,300 employees
1,200 employees = 12,000 employees
twenty-five people = twenty-six people
half of the staff = 25 percent of the staff
two thirds of the staff = 60 percent
1 in 5 people = 5 percent
1 March 2025 = 2 March 2025
1 March 2025 = 1 March 2024
1 March 2025 = 1 May 2025
12 March 2024 = March 2024
March 2024 = in 2024
March 2024 = April 2024
31 March = 30 March
in 2024 = in 2023
Q3 2020 = Q2 2020
Q3 2020 = Q3 2019
every Friday = every Monday
9 a.m. = 9 p.m.
09:00 = 09:30
09:00 = 21:00
the 4th floor = the 5th floor
version 2.1 = version 2.10
version 2.1 = version 2.2
v3.0.1 = v3.0.2
ISO 27001:2022 = ISO 27001:2013
ISO 27001 = ISO 27002
Article 17 = Article 21
Article 17 = Section 17
Section 4.2 = Section 4.3
form ON-3 = form ON-4
INV-2024-117 = INV-2024-171
+00 555 0142 = +00 555 0143
a@example.org = b@example.org
10 to 15 days = 10 to 20 days
10 to 15 days = 10 days
10 to 15 days = 10 to 15 weeks
3:1 = 4:1
twice a year = three times a year
at least 5 days = at most 5 days
at least 5 days = more than 5 days
up to 5 days = 5 days
less than 5 hours = more than 5 hours
18 euros per month = 18 euros per year
met Dana Okell = saw Dana Oakes
“the whole truth” = “the half truth”
"""


def cases(table: str) -> list[tuple[str, str]]:
    return [(one, other) for one, other in (row.split(" = ") for row in table.strip().splitlines())]


def single(text: str) -> Literal:
    found = literals(text)
    assert len(found) == 1, (text, found)
    return found[0]


@pytest.mark.parametrize(("one", "other"), cases(EQUAL))
def test_two_writings_of_one_value_are_equal(one: str, other: str) -> None:
    assert same_value(single(one), single(other)), (single(one), single(other))


@pytest.mark.parametrize(("one", "other"), cases(UNEQUAL))
def test_different_values_are_not_equal(one: str, other: str) -> None:
    assert not same_value(single(one), single(other)), (single(one), single(other))


def test_the_table_is_long_enough() -> None:
    assert len(cases(EQUAL)) + len(cases(UNEQUAL)) >= 150
