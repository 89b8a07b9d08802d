#!/usr/bin/env python3
"""Speaks to `fathom serve` with OpenAI's own Python client: sync, async, streaming helpers, errors.

  openai_client_test.py [--fathom build/release/fathom] [--model MODEL.gguf] [--url URL]

Starts a server on a free port, unless --url names one that runs. Needs the package openai; the model is the
default one of scripts/fetch-model, whose greedy answers the checks know. Called by .ci/run (stage serve).
"""

import argparse
import asyncio
import os
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

import openai

ROOT = Path(__file__).resolve().parents[2]
HELLO = [{"role": "user", "content": "hello"}]
GREETING = "Hello! How can I assist you today?"
URL = ""


def default_model() -> str:
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return f"{cache}/fathom/models/SmolLM2-135M-Instruct.Q4_1.gguf"


def client(**options) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0, **options)


class ClientTest(unittest.TestCase):
    def setUp(self):
        self.client = client()
        self.model = self.client.models.list().data[0].id

    def chat(self, **options):
        return self.client.chat.completions.create(
            **{"model": self.model, "messages": HELLO, "temperature": 0, "max_tokens": 32} | options
        )

    def refused(self, kind, **options):
        with self.assertRaises(kind) as caught:
            self.chat(**options)
        return caught.exception

    def test_models(self):
        self.assertEqual(self.client.models.retrieve(self.model).id, self.model)
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("nosuch")

    def test_chat(self):
        answer = self.chat(seed=7)
        self.assertEqual(answer.choices[0].message.content, GREETING)
        self.assertEqual(answer.choices[0].message.role, "assistant")
        self.assertEqual(answer.choices[0].finish_reason, "stop")
        self.assertEqual(answer.usage.prompt_tokens, 31)
        self.assertEqual(answer.model_extra["seed"], 7)
        self.assertIsNotNone(answer.usage.prompt_tokens_details.cached_tokens)
        self.assertEqual(
            self.chat(max_completion_tokens=3, max_tokens=3).choices[0].finish_reason, "length"
        )

    def test_chat_stream(self):
        text, finish, usage = "", None, None
        stream = self.chat(stream=True, stream_options={"include_usage": True})
        for chunk in stream:
            if chunk.choices:
                text += chunk.choices[0].delta.content or ""
                finish = chunk.choices[0].finish_reason or finish
            usage = chunk.usage or usage
        self.assertEqual((text, finish), (GREETING, "stop"))
        self.assertEqual(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)

    def test_stream_helper(self):
        helper = getattr(self.client.chat.completions, "stream", None)
        helper = helper or self.client.beta.chat.completions.stream
        with helper(model=self.model, messages=HELLO, temperature=0, max_tokens=32) as stream:
            deltas = [event.delta for event in stream if event.type == "content.delta"]
            final = stream.get_final_completion()
        self.assertEqual("".join(deltas), GREETING)
        self.assertEqual(final.choices[0].message.content, GREETING)

    def test_logprobs(self):
        answer = self.chat(logprobs=True, top_logprobs=3, max_tokens=4)
        tokens = answer.choices[0].logprobs.content
        raw = b"".join(bytes(token.bytes) for token in tokens)
        self.assertEqual(raw.decode(), answer.choices[0].message.content)
        for token in tokens:
            self.assertEqual(len(token.top_logprobs), 3)
            self.assertEqual(token.logprob, token.top_logprobs[0].logprob)

    def test_choices(self):
        answer = self.chat(n=3, temperature=1.5, seed=3, max_tokens=8)
        self.assertEqual([choice.index for choice in answer.choices], [0, 1, 2])
        self.assertGreater(len({choice.message.content for choice in answer.choices}), 1)

    def test_completions(self):
        ask = {
            "model": self.model,
            "prompt": "The capital of France is",
            "temperature": 0,
            "max_tokens": 2,
        }
        answer = self.client.completions.create(**ask, logprobs=2, echo=True)
        self.assertEqual(answer.choices[0].text, "The capital of France is Paris.")
        self.assertEqual(answer.choices[0].logprobs.tokens[-2:], [" Paris", "."])
        text = "".join(
            chunk.choices[0].text for chunk in self.client.completions.create(**ask, stream=True)
        )
        self.assertEqual(text, " Paris.")

    def test_extensions(self):
        answer = self.chat(extra_body={"top_k": 1, "return_token_ids": True, "min_tokens": 2})
        self.assertEqual(len(answer.model_extra["prompt_token_ids"]), 31)

    def test_ignored_fields_are_named(self):
        raw = self.client.chat.completions.with_raw_response.create(
            model=self.model, messages=HELLO, max_tokens=1, user="u", store=True
        )
        self.assertEqual(raw.headers["fathom-ignored"], "store, user")
        self.assertEqual(raw.parse().usage.completion_tokens, 1)

    def test_errors(self):
        error = self.refused(openai.BadRequestError, extra_body={"nosuch": 1})
        self.assertEqual(
            (error.param, error.type, error.status_code), ("nosuch", "invalid_request_error", 400)
        )
        self.assertEqual(self.refused(openai.BadRequestError, n=0).param, "n")
        error = self.refused(openai.BadRequestError, response_format={"type": "json_object"})
        self.assertEqual(error.code, "unsupported")
        long = [{"role": "user", "content": "word " * 20000}]
        error = self.refused(openai.BadRequestError, messages=long)
        self.assertEqual(error.code, "context_length_exceeded")
        self.refused(openai.NotFoundError, model="nosuch")

    def test_errors_in_a_stream(self):
        with self.assertRaises(openai.APIError):
            stream = self.chat(
                stream=True,
                max_tokens=300,
                extra_body={"deadline_seconds": 0.3, "ignore_eos": True},
            )
            for _ in stream:
                pass

    def test_leaving_a_stream(self):
        for _ in range(3):
            stream = self.chat(stream=True, max_tokens=500, extra_body={"ignore_eos": True})
            next(iter(stream))
            stream.close()
        self.assertEqual(self.chat().choices[0].message.content, GREETING)

    def test_async(self):
        async def ask_all():
            async with openai.AsyncOpenAI(base_url=f"{URL}/v1", api_key="none") as several:

                async def whole():
                    answer = await several.chat.completions.create(
                        model=self.model, messages=HELLO, temperature=0, max_tokens=32
                    )
                    return answer.choices[0].message.content

                async def streamed():
                    stream = await several.chat.completions.create(
                        model=self.model, messages=HELLO, temperature=0, max_tokens=32, stream=True
                    )
                    return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

                return await asyncio.gather(
                    *(call() for _ in range(4) for call in (whole, streamed))
                )

        self.assertEqual(asyncio.run(ask_all()), [GREETING] * 8)


def wait_until_ready(server: subprocess.Popen, url: str) -> None:
    """Returns once /ready answers 200; the model is loaded then."""
    while server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/ready", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    sys.exit(f"the server ended with status {server.returncode}")


def main() -> int:
    global URL
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fathom", default=str(ROOT / "build/release/fathom"))
    parser.add_argument("--model", default=default_model())
    parser.add_argument("--port", default="18080")
    parser.add_argument("--url", default="")
    args = parser.parse_args()
    URL = args.url or f"http://127.0.0.1:{args.port}"
    server = None
    if not args.url:
        server = subprocess.Popen(
            [args.fathom, "serve", "-m", args.model, "--port", args.port, "-c", "1024"]
        )
        wait_until_ready(server, URL)
    try:
        tests = unittest.defaultTestLoader.loadTestsFromTestCase(ClientTest)
        return 0 if unittest.TextTestRunner(verbosity=2).run(tests).wasSuccessful() else 1
    finally:
        if server is not None:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
