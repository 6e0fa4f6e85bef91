// The AG-UI client, which verifies the order of events itself: two turns, an answer again, an error.
import assert from "node:assert/strict";

import { HttpAgent } from "@ag-ui/client";

import { client, given, headers, openGate, said } from "./chat.mjs";

const thread = crypto.randomUUID();
const agent = new HttpAgent({ url: `${given.url}/agui`, headers, threadId: thread });
const word = given.word;

let tokens = [];
const subscriber = {
  onTextMessageContentEvent: async ({ event }) => {
    tokens.push(event.delta);
    if (tokens.length === 1 && tokens[0] === "one ") await openGate(`${word}-first`);
  },
};

const ask = (content) => agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
const shown = () => agent.messages.map((message) => message.content);
const stored = async () => said((await client.threads.getState(thread)).values.messages);

ask(`Count, ${word}`);
await agent.runAgent({}, subscriber);
assert.deepEqual(tokens, ["one ", "two"]);
assert.deepEqual(shown(), [`Count, ${word}`, "one two"]);

ask(`And then, ${word}?`);
await agent.runAgent();
assert.deepEqual(shown(), [`Count, ${word}`, "one two", `And then, ${word}?`, "three"]);
assert.deepEqual(await stored(), shown());

agent.setMessages(agent.messages.slice(0, 3));
await agent.runAgent();
assert.deepEqual(shown(), [`Count, ${word}`, "one two", `And then, ${word}?`, "four"]);
assert.deepEqual(await stored(), shown());

ask(`Fail, ${word}`);
let failure;
await agent.runAgent({}, { onRunErrorEvent: ({ event }) => void (failure = event) }).catch(() => undefined);
assert.ok(failure.code);
assert.ok(!JSON.stringify(failure).includes("Traceback"));
