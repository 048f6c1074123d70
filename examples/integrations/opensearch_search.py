"""OpenSearch or Elasticsearch: check an answer against what an index finds."""

import os

import httpx2

import suffice
from suffice.integrations.opensearch import OpenSearchRetriever

client = httpx2.Client(auth=("reader", os.environ.get("OPENSEARCH_PASSWORD", "")))
search = OpenSearchRetriever(
    os.environ["OPENSEARCH_URL"],
    "policies",
    text="body",
    fields={"title": "meta.title"},
    engine="opensearch",  # or "elasticsearch": they differ for vectors only
    client=client,
)
question = "How long is parental leave?"
passages = search(question)
print(suffice.gate(question, passages).level)  # SUFFICIENT
verdict = suffice.check("Parental leave lasts 52 weeks.", passages, question, uncited=True)
print(verdict.action, verdict.reason)  # WITHHOLD
