// The Vercel AI SDK's transport for LangGraph deployments, called as its useChat hook does: without a thread, and in one.
import assert from "node:assert/strict";

import { LangSmithDeploymentTransport } from "@ai-sdk/langchain";
import { readUIMessageStream } from "ai";

import { client, given, headers, openGate, said } from "./chat.mjs";

const word = given.word;
const connection = { url: given.url, apiKey: null, headers };
const textOf = (message) => message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");

/** What the hook keeps: the conversation, which goes out whole with each question, and the answer as it grows. */
class Conversation {
  messages = [];

  constructor(transport) {
    this.transport = transport;
  }

  async ask(text, onText = async () => undefined) {
    this.messages.push({ id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] });
    const stream = await this.transport.sendMessages({
      trigger: "submit-message",
      chatId: "chat",
      messageId: undefined,
      messages: this.messages,
      abortSignal: undefined,
    });
    let answer;
    for await (const message of readUIMessageStream({ stream, terminateOnError: true })) {
      answer = message;
      await onText(textOf(message));
    }
    this.messages.push(answer);
    return textOf(answer);
  }
}

// Without a thread: nothing is kept, and the second question brings the first.
const kept = new Conversation(new LangSmithDeploymentTransport(connection));
const grown = [];
await kept.ask(`Count, ${word}`, async (text) => {
  if (text && text !== grown.at(-1)) grown.push(text);
  if (text === "one ") await openGate(`${word}-first`);
});
assert.deepEqual(grown, ["one ", "one two"]);
assert.equal(await kept.ask(`And then, ${word}?`), "three");
await assert.rejects(kept.ask(`Fail, ${word}`), (error) => !String(error).includes("Traceback"));

// In a thread: the thread has what was said before, so only the question goes out.
class ThreadTransport extends LangSmithDeploymentTransport {
  sendMessages(options) {
    return super.sendMessages({ ...options, messages: options.messages.slice(-1) });
  }
}

const { thread_id: thread } = await client.threads.create();
const config = { configurable: { thread_id: thread } };
const threaded = new Conversation(new ThreadTransport({ ...connection, config }));
assert.equal(await threaded.ask(`Mine, ${word}`), "four");
assert.equal(await threaded.ask(`Yours, ${word}`), "five");
const stored = (await client.threads.getState(thread)).values.messages;
assert.deepEqual(said(stored), [`Mine, ${word}`, "four", `Yours, ${word}`, "five"]);
