"""Example texts for each kind: the same eight subjects in four styles.

Because all kinds cover the same subjects, their vectors differ by style, not by subject.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from suffice.types import Kind

PROTOTYPES: Mapping[Kind, tuple[str, ...]] = MappingProxyType(
    {
        Kind.FACT: (
            "Access from outside the network is limited to company laptops with a hardware key.",
            "Invoices are paid within 30 days of receipt; the limit for a single order is 500.",
            "The device weighs 2.4 kilograms and runs for nine hours on one battery charge.",
            "The soup contains 12 grams of fat per portion and keeps for three days in the fridge.",
            "Employees are entitled to 25 days of paid leave per calendar year.",
            "The castle was built between 1410 and 1432 and has belonged to the city since 1871.",
            "The tenant shall give notice in writing three months before the end of the lease.",
            "The medicine is taken twice a day; it must not be given to children under twelve.",
        ),
        Kind.QA: (
            "Q: Can I get access from home? A: Yes, if you have a company laptop and a key.",
            "When is my invoice paid? Within 30 days after we have received it.",
            "Question: How long does the battery last? Answer: About nine hours on one charge.",
            "Can I freeze the soup? Yes, it keeps for three months in the freezer.",
            "How many days of leave do I have? You have 25 days per year.",
            "Frequently asked questions: Is the castle open on Mondays? No, it is closed.",
            "Do I have to give notice in writing? Yes, and your landlord must confirm it.",
            "What should I do if I forget a dose? Take it as soon as you remember.",
        ),
        Kind.PROCEDURE: (
            "1. Open the client. 2. Enter your user name. 3. Insert the key and press Connect.",
            "First check the invoice, then enter the amount in the tool and send it for approval.",
            "To change the battery, remove the screws, lift the cover and pull out the old one.",
            "Chop the onions, fry them in butter, add the stock and simmer for twenty minutes.",
            "Fill in the leave form, have it signed by your manager and hand it in at the office.",
            "Step 1: Go to the gate. Step 2: Show your ticket. Step 3: Follow the red arrows.",
            "Write the letter of notice, sign it, make a copy and send it by registered post.",
            "Shake the bottle, measure the dose with the spoon, swallow it and drink some water.",
        ),
        Kind.DISCUSSION: (
            "Posted by Kim: I cannot get access from home since Monday. Has anyone else seen this?",
            "Re: Invoices. I think 30 days is too long, we should propose to pay them earlier.",
            "In my opinion the battery is disappointing, others here seem to have more luck.",
            "I tried the soup and did not like it, maybe I used too much salt. Thoughts?",
            "The group discussed more days of leave. Anna was in favour, Paul objected.",
            "We visited the castle in May. Honestly, I would not go again, but my kids loved it.",
            "Tom wrote: the landlord told me something else. I am not sure who is right here.",
            "Minutes: it was suggested to change the dose. No decision was taken.",
        ),
    }
)
