"""OpenAI SDK: a client whose answers are checked. Install: pip install 'suffice[openai]'"""

import openai

import suffice
from suffice.testing import ScriptedUpstream, says

evidence = ["Parental leave lasts 18 weeks."]
asked = {
    "model": "any",
    "messages": [{"role": "user", "content": "How long is parental leave?"}],
}

with ScriptedUpstream([says("Parental leave lasts 52 weeks.")]) as llm:  # use your own endpoint
    client = suffice.openai.guard(openai.OpenAI(base_url=llm.url, api_key="none"))
    made = client.chat.completions.create(**asked, evidence=evidence)
    print(made.suffice["verdict"])  # WITHHOLD
    print(made.choices[0].message.content)  # the refusal, not the hallucination
    for chunk in client.chat.completions.create(**asked, evidence=evidence, stream=True):
        print(chunk.choices[0].delta.content or "" if chunk.choices else "", end="")
