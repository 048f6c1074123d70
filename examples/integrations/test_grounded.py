"""pytest: answers and golden files as tests. Run: pytest test_grounded.py leave.golden.jsonl"""

PASSAGES = ["Parental leave lasts 18 weeks.", "The office in Berlin closes at six."]


def answer(question):
    """Your application: returns an answer with the passages it was written from."""
    if "leave" not in question:
        return "I do not know.", PASSAGES
    return "Parental leave lasts 18 weeks.", PASSAGES


def test_the_answer_stays_inside_its_passages(assert_grounded):
    assert_grounded(*answer("How long is parental leave?"))
