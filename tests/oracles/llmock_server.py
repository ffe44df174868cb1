"""llmock: tells its address; what goes wrong, and what it thinks of its client, is asked of it over HTTP."""

import json
import threading

from llmock.testing import LLMockServer

with LLMockServer() as server:
    print(json.dumps({"url": server.url}))
    threading.Event().wait()
