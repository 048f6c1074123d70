"""LiteLLM without its proxy: checked completions. Install: pip install 'suffice[litellm]'

For the proxy, see docs/how-to/frameworks.md.
"""

import litellm

from suffice.integrations.litellm import guard
from suffice.testing import ScriptedUpstream, says

completion = guard(litellm.completion, ["Parental leave lasts 18 weeks."])
messages = [{"role": "user", "content": "How long is parental leave?"}]

with ScriptedUpstream([says("Parental leave lasts 52 weeks.")]) as llm:  # use your own model
    asked = {"model": "openai/any", "api_base": llm.url, "api_key": "none", "messages": messages}
    print(completion(**asked).choices[0].message.content)  # the refusal, not the hallucination
    for chunk in completion(**asked, stream=True):
        print(chunk.choices[0].delta.content or "", end="")
