"""Haystack: a pipeline whose replies are checked. Install: pip install 'suffice[haystack]'"""

from haystack import Document, Pipeline
from haystack.components.builders import ChatPromptBuilder
from haystack.components.generators.chat import MockChatGenerator
from haystack.dataclasses import ChatMessage

from suffice.integrations.haystack import SufficeChatGenerator, SufficeGate

TEMPLATE = "{% for one in documents %}{{ one.content }}\n{% endfor %}Question: {{ query }}"
documents = [Document(content="Parental leave lasts 18 weeks.")]
model = MockChatGenerator(responses="Parental leave lasts 52 weeks.")  # use your own model

pipeline = Pipeline()
pipeline.add_component("gate", SufficeGate())
prompt = ChatPromptBuilder([ChatMessage.from_user(TEMPLATE)], required_variables="*")
pipeline.add_component("prompt", prompt)
pipeline.add_component("llm", SufficeChatGenerator(model))
pipeline.connect("gate.documents", "prompt.documents")
pipeline.connect("gate.documents", "llm.documents")
pipeline.connect("prompt.prompt", "llm.messages")

for query in ("How long is parental leave?", "Who won the cup in 1954?"):
    given = {"gate": {"query": query, "documents": documents}}
    made = pipeline.run({**given, "prompt": {"query": query}, "llm": {"query": query}})
    print(made["llm"]["replies"][0].text if "llm" in made else made["gate"]["refusal"])
