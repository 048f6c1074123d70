"""LangChain: a chain whose answers are checked. Install: pip install 'suffice[langchain]'"""

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate

from suffice.integrations.langchain import SufficeGuard

documents = [Document("Parental leave lasts 18 weeks.", metadata={"source": "handbook.md"})]
prompt = ChatPromptTemplate.from_template("Answer from:\n{context}\n\nQuestion: {question}")
model = FakeListChatModel(responses=["Parental leave lasts 52 weeks."])  # use your own model

chain = SufficeGuard(prompt | model | StrOutputParser())
asked = {"question": "How long is parental leave?", "context": documents}
print(chain.invoke(asked))  # the refusal, not the hallucination
for piece in chain.stream(asked):
    print(piece, end="")
