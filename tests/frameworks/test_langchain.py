"""The LangChain adapters inside LangChain's own runs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("langchain_core")

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from suffice.errors import AnswerWithheld, EvidenceError, EvidenceInsufficient
from suffice.integrations.langchain import SufficeCallback, SufficeGuard, SufficeRetriever
from tests.frameworks.leave import QUESTION, RIGHT, TEXTS, UNANSWERED, WRONG, blocked, example

DOCUMENTS = [Document(text) for text in TEXTS]
INPUT = {"question": QUESTION, "context": DOCUMENTS}


class Shelf(BaseRetriever):
    documents: list[Document] = DOCUMENTS

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return self.documents


def model(answer: str) -> Any:
    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")
    return prompt | FakeListChatModel(responses=[answer])


def chain(answer: str) -> Any:
    return model(answer) | StrOutputParser()


def rag(answer: str) -> Any:
    """The usual chain: the question goes in, documents and answer come out."""
    return RunnablePassthrough.assign(
        context=RunnableLambda(lambda given: given["question"]) | Shelf()
    ) | RunnablePassthrough.assign(answer=chain(answer))


def test_a_hallucination_is_replaced() -> None:
    guarded = SufficeGuard(chain(WRONG))
    assert blocked(guarded.invoke(INPUT))
    assert blocked("".join(guarded.stream(INPUT)))
    assert [blocked(one) for one in guarded.batch([INPUT, INPUT])] == [True, True]

    async def run() -> None:
        assert blocked(await guarded.ainvoke(INPUT))
        assert blocked("".join([chunk async for chunk in guarded.astream(INPUT)]))

    asyncio.run(run())


def test_a_grounded_answer_is_unchanged() -> None:
    guarded = SufficeGuard(chain(RIGHT))
    assert guarded.invoke(INPUT) == RIGHT
    pieces = list(guarded.stream(INPUT))
    assert "".join(pieces) == RIGHT
    assert len(pieces) > 1

    async def run() -> None:
        assert await guarded.ainvoke(INPUT) == RIGHT
        assert "".join([chunk async for chunk in guarded.astream(INPUT)]) == RIGHT

    asyncio.run(run())


def test_messages_and_dicts() -> None:
    message = SufficeGuard(model(WRONG)).invoke(INPUT)
    assert blocked(message.content)
    assert message.response_metadata["suffice"]["verdict"] == "WITHHOLD"
    made = SufficeGuard(rag(WRONG)).invoke({"question": QUESTION})
    assert blocked(made["answer"])
    assert made["context"] == DOCUMENTS
    (last,) = SufficeGuard(rag(WRONG)).stream({"question": QUESTION})
    assert blocked(last["answer"])


def test_the_messages_of_an_agent() -> None:
    said = [HumanMessage(QUESTION), ToolMessage(TEXTS[0], tool_call_id="1"), AIMessage(WRONG)]
    agent = RunnableLambda(lambda given: {"messages": said})

    def found(input: Any, output: Any) -> list[str]:
        return [one.content for one in output["messages"] if one.type == "tool"]

    made = SufficeGuard(agent, evidence=found).invoke({"messages": said[:1]})
    assert blocked(made["messages"][-1].content)
    assert made["messages"][:-1] == said[:-1]

    def updates(given: Any) -> Any:
        yield {"search": TEXTS}
        yield {"agent": said}

    class Graph(RunnableLambda):
        def stream(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            yield from updates(input)

    with pytest.raises(EvidenceError, match="invoke"):
        list(SufficeGuard(Graph(updates), evidence=found).stream({}))


def test_raising() -> None:
    guarded = SufficeGuard(chain(WRONG), on_block="raise")
    with pytest.raises(AnswerWithheld):
        guarded.invoke(INPUT)
    with pytest.raises(AnswerWithheld):
        next(guarded.stream(INPUT))
    with pytest.raises(AnswerWithheld):
        asyncio.run(guarded.ainvoke(INPUT))


def test_the_guard_is_a_part_of_a_chain_and_its_events_hold_nothing_unchecked() -> None:
    composed = SufficeGuard(chain(WRONG)) | RunnableLambda(lambda text: f"Answer: {text}")
    assert blocked(composed.invoke(INPUT))

    async def events() -> list[Any]:
        return [event async for event in composed.astream_events(INPUT, version="v2")]

    told = repr(asyncio.run(events()))
    assert "52" not in told
    assert "Answer: " in told


def test_other_callbacks_still_see_the_chain_inside() -> None:
    class Seen(BaseCallbackHandler):
        texts: list[str] = []  # noqa: RUF012

        def on_llm_end(self, response: Any, **kwargs: Any) -> None:
            self.texts.append(response.generations[0][0].text)

    seen = Seen()
    SufficeGuard(chain(WRONG)).invoke(INPUT, {"callbacks": [seen]})
    assert seen.texts == [WRONG]


def test_tool_calls_pass() -> None:
    call = {"name": "search", "args": {}, "id": "1", "type": "tool_call"}
    calls = RunnableLambda(lambda given: AIMessage("", tool_calls=[call]))
    assert SufficeGuard(calls).invoke(INPUT).tool_calls == [call]


def test_missing_evidence_is_an_error() -> None:
    with pytest.raises(EvidenceError, match="'context'"):
        SufficeGuard(RunnableLambda(lambda given: RIGHT)).invoke({"question": QUESTION})
    given = SufficeGuard(RunnableLambda(lambda given: WRONG), evidence=lambda input, output: TEXTS)
    assert blocked(given.invoke(QUESTION))


def test_the_retriever_gates() -> None:
    gated = SufficeRetriever(retriever=Shelf())
    assert gated.invoke(QUESTION)[0] == DOCUMENTS[0]
    assert gated.invoke(UNANSWERED) == []
    assert asyncio.run(gated.ainvoke(UNANSWERED)) == []
    assert asyncio.run(gated.ainvoke(QUESTION))[0] == DOCUMENTS[0]
    strict = SufficeRetriever(retriever=Shelf(), on_insufficient="raise")
    with pytest.raises(EvidenceInsufficient):
        strict.invoke(UNANSWERED)


def test_the_retriever_leaves_out_what_has_expired() -> None:
    old = Document("Parental leave lasts 12 weeks.", metadata={"expires": "2020-01-01"})
    found = SufficeRetriever(retriever=Shelf(documents=[*DOCUMENTS, old])).invoke(QUESTION)
    assert old not in found
    assert DOCUMENTS[0] in found


def test_the_callback_checks_the_run() -> None:
    watch = SufficeCallback()
    assert rag(RIGHT).invoke({"question": QUESTION}, {"callbacks": [watch]})["answer"] == RIGHT
    with pytest.raises(AnswerWithheld):
        rag(WRONG).invoke({"question": QUESTION}, {"callbacks": [watch]})
    with pytest.raises(AnswerWithheld):
        asyncio.run(rag(WRONG).ainvoke({"question": QUESTION}, {"callbacks": [watch]}))
    assert [one.action.value for one in watch.verdicts] == ["SERVE", "WITHHOLD", "WITHHOLD"]
    recording = SufficeCallback(on_block="record")
    rag(WRONG).invoke({"question": QUESTION}, {"callbacks": [recording]})
    assert [one.action.value for one in recording.verdicts] == ["WITHHOLD"]


def test_the_callback_raises_after_the_last_token_of_a_stream() -> None:
    watch: SufficeCallback = SufficeCallback()
    stream = rag(WRONG).stream({"question": QUESTION}, {"callbacks": [watch]})
    assert next(stream)
    with pytest.raises(AnswerWithheld):
        list(stream)

    async def run() -> None:
        async for _ in rag(WRONG).astream({"question": QUESTION}, {"callbacks": [watch]}):
            pass

    with pytest.raises(AnswerWithheld):
        asyncio.run(run())


def test_the_example() -> None:
    told = example("langchain_guard.py")
    assert "documents" in told
    assert "52" not in told
