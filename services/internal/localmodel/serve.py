"""Serves one model file with llama.cpp's HTTP server on 127.0.0.1.

Arguments: folder of the library, model file, name of the model, port (0: a free one), slots, window of each slot in tokens,
MiB for prompts of earlier requests, threads, chat template (empty: the model's own).
Prints `ready` and the address once it answers. Ends when its standard input does: whoever started it holds the other end,
so it never outlives them, however they died. SIGINT from a terminal is for them, not for this process.
"""
import os
import signal
import sys
import threading

library, path, name, port, slots, window, memory, threads, template = sys.argv[1:]
sys.path.insert(0, library)
signal.signal(signal.SIGINT, signal.SIG_IGN)


def end_with_parent():
    while os.read(0, 4096):
        pass
    os._exit(0)


threading.Thread(target=end_with_parent, daemon=True).start()

# Standard output is for `ready` alone: what the library prints joins its log on standard error.
ready = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

import xllamacpp  # noqa: E402

p = xllamacpp.CommonParams()
p.model.path = path
p.model_alias = {name}
p.hostnames = ["127.0.0.1"]
p.port = int(port)
p.n_parallel = int(slots)
p.n_ctx = int(slots) * int(window)
p.cpuparams.n_threads = int(threads)
p.cache_ram_mib = int(memory)
# Gemma's layers look back 512 tokens only, and the server would keep no more of them: a prompt that differs from the one
# before by more than that at its end, as each next prompt of a story does, would be read anew from its beginning.
p.swa_full = True
p.endpoint_props = True
p.endpoint_slots = True
p.ui = False
if template:
    p.chat_template = template
server = xllamacpp.Server(p)
print("ready", server.listening_address, file=ready, flush=True)
threading.Event().wait()
