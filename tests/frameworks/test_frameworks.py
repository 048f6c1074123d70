"""The prompt shapes against the packages' own synthesizers and prompt builders.

The packages are large and the shapes rarely change, so the suite skips these tests where they are
not installed. To run them: ./scripts/test frameworks
"""

from __future__ import annotations

from typing import Any

import pytest

from suffice.server.openai.carried_evidence import parts_of

QUESTION = "How long is parental leave?"
TEXTS = ["Parental leave is 18 weeks.", "Lunch is at noon."]


def _read(prompt: str) -> None:
    found = parts_of(prompt)
    assert found is not None, prompt
    assert found.question in (QUESTION, "")
    assert TEXTS[0] in found.context


@pytest.mark.parametrize("mode", ["compact", "refine", "tree_summarize", "simple_summarize"])
def test_llama_index_synthesizers(mode: str) -> None:
    core: Any = pytest.importorskip("llama_index.core")
    from llama_index.core.llms.mock import MockLLM  # type: ignore[import-not-found,unused-ignore]
    from llama_index.core.schema import (  # type: ignore[import-not-found,unused-ignore]
        NodeWithScore,
        TextNode,
    )

    prompts: list[str] = []

    class Heard(MockLLM):  # type: ignore[misc,unused-ignore]
        def complete(self, prompt: str, *args: Any, **more: Any) -> Any:
            prompts.append(prompt)
            return super().complete("done", *args, **more)

    synthesizer = core.get_response_synthesizer(llm=Heard(), response_mode=mode)
    nodes = [NodeWithScore(node=TextNode(text=text)) for text in TEXTS]
    synthesizer.synthesize(QUESTION, nodes)
    assert prompts
    first = parts_of(prompts[0])
    assert first is not None
    assert (first.question, TEXTS[0] in first.context) == (QUESTION, True)
    for prompt in prompts[1:]:
        found = parts_of(prompt)
        assert found is not None, prompt
        assert found.question == QUESTION


def test_llama_index_chat_prompts() -> None:
    pytest.importorskip("llama_index.core")
    from llama_index.core.chat_engine import (  # type: ignore[import-not-found,unused-ignore]
        condense_plus_context,
        context,
    )
    from llama_index.core.prompts import (  # type: ignore[import-not-found,unused-ignore]
        chat_prompts,
    )

    parts = {"context_str": TEXTS[0], "context_msg": TEXTS[0], "query_str": QUESTION}
    for name in ("CHAT_TEXT_QA_PROMPT", "CHAT_TREE_SUMMARIZE_PROMPT", "CHAT_REFINE_PROMPT"):
        made = getattr(chat_prompts, name).format_messages(**parts, existing_answer="None yet.")
        _read(made[-1].content)
    _read(context.DEFAULT_CONTEXT_TEMPLATE.format(**parts))
    _read(condense_plus_context.DEFAULT_CONTEXT_PROMPT_TEMPLATE.format(**parts))


def test_langchain_stuff_prompts() -> None:
    pytest.importorskip("langchain_classic")
    from langchain_classic.chains.question_answering import (  # type: ignore[import-not-found,unused-ignore]
        stuff_prompt,
    )

    context = "\n\n".join(TEXTS)
    _read(stuff_prompt.PROMPT.format(context=context, question=QUESTION))
    chat = stuff_prompt.CHAT_PROMPT.format_messages(context=context, question=QUESTION)
    _read(chat[0].content)


def test_haystack_prompt_builder() -> None:
    pytest.importorskip("haystack")
    from haystack import Document  # type: ignore[import-not-found,unused-ignore]
    from haystack.components.builders import (  # type: ignore[import-not-found,unused-ignore]
        PromptBuilder,
    )

    documented = PromptBuilder.__doc__ or ""
    template = documented.partition('template = """')[2].partition('"""')[0] or _TEMPLATE
    template = template if "documents" in template else _TEMPLATE
    builder = PromptBuilder(template=template, required_variables="*")
    documents = [Document(content=text) for text in TEXTS]
    _read(builder.run(documents=documents, query=QUESTION, question=QUESTION)["prompt"])


_TEMPLATE = """
    Given these documents, answer the question.
    Documents:
    {% for doc in documents %}
        {{ doc.content }}
    {% endfor %}
    Question: {{query}}
    Answer:
    """
