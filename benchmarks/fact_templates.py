"""Fact templates with a placeholder for one value: a source wording and answer wordings."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks import written
from benchmarks.written import Maker


@dataclass(frozen=True, slots=True)
class Fact:
    """`source` and each of `claims` contain `{v}` once."""

    make: Maker
    source: str
    claims: tuple[str, ...]


def _facts(make: Maker, *rows: tuple[str, str]) -> list[Fact]:
    """Facts from pairs: the source wording and alternative wordings."""
    return [Fact(make, source, (source, claim)) for source, claim in rows]


FACTS: tuple[Fact, ...] = (
    *_facts(
        written.money,
        (
            "The deductible of the family plan is {v}.",
            "Members of the family plan pay {v} as deductible.",
        ),
        (
            "Operating costs rose to {v} last year.",
            "Last year, operating costs reached {v}.",
        ),
        (
            "The contract with the cleaning company is worth {v}.",
            "{v} is the value of the cleaning contract.",
        ),
        (
            "Donations to the museum came to {v}.",
            "The museum received {v} in donations.",
        ),
        (
            "A late return is charged with {v}.",
            "The charge for a late return is {v}.",
        ),
        (
            "The bridge repair was budgeted at {v}.",
            "For repairing the bridge, {v} was budgeted.",
        ),
        (
            "Research spending of the institute was {v}.",
            "The institute spent {v} on research.",
        ),
    ),
    *_facts(
        written.percent,
        (
            "Headcount grew by {v} in the support team.",
            "The support team's headcount went up {v}.",
        ),
        (
            "About the survey: {v} of the tenants answered.",
            "{v} of tenants took part in the survey.",
        ),
        (
            "Unemployment in the region stood at {v}.",
            "The region had an unemployment rate of {v}.",
        ),
        (
            "The vaccine was effective in {v} of adults.",
            "In adults, the vaccine's efficacy was {v}.",
        ),
        (
            "Employees contribute {v} of their salary to the pension fund.",
            "The pension contribution of employees is {v} of salary.",
        ),
        (
            "The alloy contains {v} copper.",
            "Copper makes up {v} of the alloy.",
        ),
        (
            "Voter turnout in the county was {v}.",
            "In the county, turnout reached {v}.",
        ),
    ),
    *_facts(
        written.duration,
        (
            "New parents are entitled to {v} of paid leave.",
            "Paid leave for new parents lasts {v}.",
        ),
        (
            "Objections must be filed within {v} of the notice.",
            "An objection has to be filed within {v}.",
        ),
        (
            "The antibiotic is taken for {v}.",
            "Patients take the antibiotic for {v}.",
        ),
        (
            "Camera footage is deleted after {v}.",
            "Footage from the cameras is kept for {v}.",
        ),
        (
            "The warranty on the pump runs for {v}.",
            "The pump comes with a warranty of {v}.",
        ),
        (
            "The probation period of drivers is {v}.",
            "Drivers are on probation for {v}.",
        ),
        (
            "Cement of this grade hardens in {v}.",
            "It takes {v} for cement of this grade to harden.",
        ),
    ),
    *_facts(
        written.length,
        (
            "The tunnel under the river is {v} long.",
            "The length of the river tunnel is {v}.",
        ),
        (
            "The ridge trail covers {v}.",
            "Hikers on the ridge trail walk {v}.",
        ),
        (
            "The mast on the hill rises to {v}.",
            "On the hill stands a mast of {v}.",
        ),
    ),
    *_facts(
        written.weight,
        (
            "Each pallet may carry {v}.",
            "The load limit for a pallet is {v}.",
        ),
        (
            "The bell of the cathedral weighs {v}.",
            "The weight of the cathedral bell is {v}.",
        ),
    ),
    *_facts(
        written.volume,
        (
            "The cistern above the village holds {v}.",
            "{v} fit into the cistern.",
        ),
        (
            "A cow of this breed drinks {v} on a hot day.",
            "On a hot day, a cow of this breed needs {v}.",
        ),
    ),
    *_facts(
        written.size,
        (
            "The archive occupies {v}.",
            "The size of the archive is {v}.",
        ),
        (
            "Each mailbox is limited to {v}.",
            "A mailbox may grow to {v}.",
        ),
    ),
    *_facts(
        written.count,
        (
            "The shelter has beds for {v} guests.",
            "{v} guests can sleep in the shelter.",
        ),
        (
            "The depot employs {v} mechanics.",
            "At the depot work {v} mechanics.",
        ),
        (
            "The library lent {v} books in spring.",
            "In spring, {v} books were lent by the library.",
        ),
        (
            "The ferry carries {v} passengers.",
            "Up to the last seat, the ferry takes {v} passengers.",
        ),
        (
            "The court heard {v} appeals.",
            "{v} appeals were heard by the court.",
        ),
        (
            "The orchard has {v} pear trees.",
            "There are {v} pear trees in the orchard.",
        ),
        (
            "The trial enrolled {v} patients.",
            "{v} patients were enrolled in the trial.",
        ),
    ),
    *_facts(
        written.day,
        (
            "The agreement was signed on {v}.",
            "Both sides signed the agreement on {v}.",
        ),
        (
            "The new timetable takes effect on {v}.",
            "From {v} the new timetable is in effect.",
        ),
        (
            "Applications for the grant close on {v}.",
            "The grant's application deadline is {v}.",
        ),
        (
            "The plant was inspected on {v}.",
            "An inspection of the plant took place on {v}.",
        ),
        (
            "Elena Marsh was born on {v}.",
            "The birth date of Elena Marsh is {v}.",
        ),
    ),
    *_facts(
        written.month,
        (
            "The hospital wing opened in {v}.",
            "In {v} the hospital wing was opened.",
        ),
        (
            "The recall was announced in {v}.",
            "The company announced the recall in {v}.",
        ),
        (
            "The guideline was revised in {v}.",
            "A revision of the guideline appeared in {v}.",
        ),
    ),
    *_facts(
        written.year,
        (
            "The foundry was founded in {v}.",
            "It was in {v} that the foundry was founded.",
        ),
        (
            "The lighthouse was automated in {v}.",
            "Automation of the lighthouse came in {v}.",
        ),
        (
            "The treaty has been in force since {v}.",
            "Since {v} the treaty has been in force.",
        ),
    ),
    *_facts(
        written.clock,
        (
            "The reception closes at {v}.",
            "You can reach the reception until {v}.",
        ),
        (
            "The morning shift starts at {v}.",
            "Work on the morning shift begins at {v}.",
        ),
        (
            "The museum opens at {v}.",
            "Doors of the museum open at {v}.",
        ),
    ),
    *_facts(
        written.article,
        (
            "The right to erasure is laid down in {v}.",
            "{v} lays down the right to erasure.",
        ),
        (
            "Fines are governed by {v} of the statute.",
            "The statute governs fines in {v}.",
        ),
    ),
    *_facts(
        written.form,
        (
            "Travel is requested with form {v}.",
            "Use form {v} to request travel.",
        ),
        (
            "The replacement filter has the part number {v}.",
            "Order the replacement filter as {v}.",
        ),
    ),
    *_facts(
        written.release,
        (
            "The plugin needs {v} of the server.",
            "You need {v} of the server for the plugin.",
        ),
        (
            "Encryption was added in {v}.",
            "Since {v} there is encryption.",
        ),
    ),
)
