"""Models behind both clients, as a program uses them; says at the end what is left of it."""

import logging
import threading
import time
from concurrent.futures import CancelledError
from contextlib import suppress

import dotenv
from chat_calls import LITELLM, REQUEST, SDK, opened

from chat_server import ChatServer


def wait_in_vain(caller):
    with suppress(CancelledError):
        caller.ask("key", REQUEST)


def main():
    # LiteLLM's own handler writes whatever its loggers let through, and they inherit this level.
    logging.basicConfig(level=logging.DEBUG, handlers=[logging.NullHandler()])
    files_read = []
    dotenv.load_dotenv = lambda *args, **options: files_read.append(args)
    faults = ["500", "json_list", None, None, "timeout"]
    for name in (LITELLM, "lm_studio/m", SDK):
        with (
            ChatServer(lambda body: "hello", faults.__getitem__) as server,
            opened(server, name, attempts=3) as coder,
            opened(server, name, attempts=3) as evaluator,
        ):
            for caller in (coder, evaluator):
                assert caller.ask("key", REQUEST).reply.text == "hello"
            waiting = threading.Thread(target=wait_in_vain, args=(coder,))
            waiting.start()
            while len(server.requests) < len(faults):
                time.sleep(0.01)
            coder.close()
            waiting.join()
    left = [thread.name for thread in threading.enumerate() if thread.name == "model-calls"]
    print(f"left: {left}; files read: {files_read}", flush=True)


if __name__ == "__main__":
    main()
