"""pgvector: gate what a table finds. Install: pip install 'suffice[postgres]'"""

import os

import psycopg

import suffice
from suffice.integrations.pgvector import PgVectorRetriever

url = os.environ["DATABASE_URL"]


def embed(text):  # use the embedder that filled your table
    words = "parental leave lasts weeks office berlin closes six".split()
    return [float(word in text.lower()) for word in words]


with psycopg.connect(url) as connection:
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    connection.execute("CREATE TABLE chunks (content text, embedding vector(8))")
    for text in ("Parental leave lasts 18 weeks.", "The office in Berlin closes at six."):
        connection.execute("INSERT INTO chunks VALUES (%s, %s)", (text, str(embed(text))))

search = PgVectorRetriever(url, "chunks", embed=embed)
print(suffice.gate("How long is parental leave?", search("parental leave")).level)  # SUFFICIENT
