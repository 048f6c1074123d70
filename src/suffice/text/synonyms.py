"""Words that people use for one another: a short list of everyday ones, and a setting's own.

They help a second search, and keep a question's "client" from being called missing where the
documents say "customer". Near is not the same: "sabbatical" is no word for "leave".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from suffice.text.stems import stem

_EVERYDAY = """
company, firm, employer, organisation, organization, enterprise
employee, worker, staff member
newcomer, starter, new employee, new hire, new joiner, recruit
colleague, coworker, co-worker
customer, client
guest, visitor
applicant, candidate
rejected, unsuccessful
supplier, vendor
manager, boss, supervisor
director, head
job, work
workspace, home office, workplace, workstation
remote, work from home, home office, wfh, telework
vehicle, car, automobile
mileage, kilometre, kilometer, mile
mobile, phone, telephone, cellphone, smartphone
laptop, notebook, computer
email, e-mail, mail
bill, invoice
receipt, voucher
salary, pay, wage, remuneration
bonus, reward, premium
raise, pay rise, increase
holiday, vacation, annual leave, pto
sick, ill
illness, sickness, disease
doctor, physician
child, son, daughter, kid, baby
father, mother, parent, dad, mum, mom
wife, husband, spouse, partner
dinner, lunch, breakfast, meal
fee, charge, cost, price
expense, spending, outlay
reimburse, refund, pay back, repay
delete, erase, destroy, remove
keep, kept, retain, retention, preserve
lose, lost, loss
buy, purchase, order
begin, start, commence
end, finish, stop
resign, quit, give notice
dismiss, terminate, lay off
rule, regulation, policy
contract, agreement
country, nation
film, movie
picture, photo, image
shop, store
flat, apartment
lift, elevator
autumn, fall
paper, document
training, course
meeting, appointment
deadline, due date, time limit
error, mistake, fault
repair, fix
"""


@dataclass(frozen=True, slots=True)
class Synonyms:
    """Groups of words, each with those that may stand for it."""

    groups: tuple[tuple[str, ...], ...] = ()
    _by_word: Mapping[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        found: dict[str, tuple[str, ...]] = {}
        for group in self.groups:
            for word in group:
                key = _key(word)
                others = (*found.get(key, ()), *(other for other in group if _key(other) != key))
                found[key] = tuple(dict.fromkeys(others))
        object.__setattr__(self, "_by_word", found)

    @classmethod
    def read(cls, own: Sequence[str] = ()) -> Synonyms:
        """The everyday groups and those of a setting: ["wfh, remote work", "pto, holiday"]."""
        lines = (*own, *_EVERYDAY.strip().splitlines())
        groups = (tuple(filter(None, map(_word, line.split(",")))) for line in lines)
        return cls(tuple(group for group in groups if len(group) > 1))

    def of(self, word: str) -> tuple[str, ...]:
        """What may stand for a word, in any of its forms."""
        return self._by_word.get(_key(word), ())


def _key(word: str) -> str:
    return " ".join(map(stem, word.split()))


def _word(written: str) -> str:
    return " ".join(written.lower().split())
