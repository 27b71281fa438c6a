// Package openaiwire is what goes over the wire of OpenAI's HTTP API: the messages and tools of a conversation, the events of an
// answer, and the words of refusals, as OpenAI, vLLM and llama.cpp's /v1 have them. The kinds `openai` and `llamacpp` both
// speak it.
package openaiwire
