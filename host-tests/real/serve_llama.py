"""Runs llama.cpp's HTTP server over a tiny model until the standard input ends, so that it never outlives its caller.

    python serve_llama.py MODEL.gguf ALIAS

The first line it prints is a JSON object with the address and the versions.
"""

import importlib.metadata
import json
import os
import sys

import tiny_model
import xllamacpp


def main():
    path, alias = sys.argv[1:]
    if not os.path.exists(path):
        partial = f"{path}.{os.getpid()}"
        tiny_model.write(partial)
        os.replace(partial, path)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = path
    parameters.model_alias = {alias}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = 2 * tiny_model.CONTEXT
    parameters.n_parallel = 2
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.endpoint_metrics = True
    parameters.endpoint_slots = True
    parameters.warmup = False
    parameters.use_jinja = True
    # It completes all the same.
    parameters.embedding = True
    parameters.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    server = xllamacpp.Server(parameters)
    packages = ["xllamacpp", "gguf", "numpy"]
    told = {
        "address": server.listening_address,
        "versions": {package: importlib.metadata.version(package) for package in packages},
    }
    # The server writes its log to the same place, so the line must stand alone.
    print(f"\n{json.dumps(told)}", flush=True)
    sys.stdin.read()
    os._exit(0)


main()
