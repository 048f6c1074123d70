"""LlamaIndex: a query engine that is gated and checked. pip install 'suffice[llamaindex]'"""

from llama_index.core import get_response_synthesizer
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode

from suffice.integrations.llamaindex import SufficePostprocessor, SufficeQueryEngine


class Retriever(BaseRetriever):  # use your own index
    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=TextNode(text="Parental leave lasts 18 weeks."))]


synthesizer = get_response_synthesizer(llm=MockLLM())  # it repeats its prompt
engine = RetrieverQueryEngine(
    Retriever(), synthesizer, node_postprocessors=[SufficePostprocessor()]
)
checked = SufficeQueryEngine(engine)
response = checked.query("How long is parental leave?")
print(response.metadata["suffice"]["verdict"])
print(response)
print(checked.query("Who won the cup in 1954?"))  # the gate is closed: no LLM is asked
