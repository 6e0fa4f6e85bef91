// The JavaScript SDK: two turns, state, history, lists, wait, a stopped run, a run that is joined.
import assert from "node:assert/strict";

import { client, given, human, openGate, said, textOf } from "./chat.mjs";

const [assistant] = await client.assistants.search({ graphId: "agent" });
assert.equal(assistant.name, "agent");

const { thread_id: thread } = await client.threads.create({ metadata: { from: given.word } });

// Tokens come while the model still speaks: the gate is before the second one.
const tokens = [];
const ids = new Set();
let values;
let created;
for await (const part of client.runs.stream(thread, assistant.assistant_id, {
  input: human(`Count, ${given.word}`),
  streamMode: ["messages-tuple", "values"],
  onRunCreated: (run) => (created = run),
})) {
  assert.notEqual(part.event, "error", JSON.stringify(part.data));
  if (part.event === "values") values = part.data;
  if (part.event !== "messages") continue;
  const [message] = part.data;
  const text = textOf(message.content);
  if (!text) continue;
  tokens.push(text);
  ids.add(message.id);
  if (tokens.length === 1) await openGate(`${given.word}-first`);
}
assert.deepEqual(tokens, ["one ", "two"]);
assert.deepEqual(said(values.messages), [`Count, ${given.word}`, "one two"]);
assert.deepEqual([...ids], [values.messages[1].id]);
assert.equal(created.thread_id, thread);
assert.equal((await client.runs.get(thread, created.run_id)).status, "success");

const second = await client.runs.wait(thread, "agent", { input: human(`And then, ${given.word}?`) });
assert.deepEqual(said(second.messages).slice(2), [`And then, ${given.word}?`, "three"]);

const state = await client.threads.getState(thread);
assert.deepEqual(said(state.values.messages), said(second.messages));
const history = await client.threads.getHistory(thread);
assert.deepEqual(history.map((each) => each.values.messages.length), [4, 2, 0]);
assert.equal(history[0].parent_checkpoint.checkpoint_id, history[1].checkpoint.checkpoint_id);

const [found] = await client.threads.search({ metadata: { from: given.word } });
assert.equal(found.thread_id, thread);
assert.equal(found.status, "idle");
assert.equal(textOf(found.values.messages[0].content), `Count, ${given.word}`);

// Stop: the run ends at the gate, what was said is kept.
let stopped;
for await (const part of client.runs.stream(thread, "agent", {
  input: human(`Speak, ${given.word}`),
  streamMode: "messages-tuple",
  onRunCreated: (run) => (stopped = run),
})) {
  if (part.event === "messages" && textOf(part.data[0].content)) {
    await client.runs.cancel(thread, stopped.run_id);
  }
}
const kept = await client.threads.getState(thread);
assert.deepEqual(said(kept.values.messages).slice(4), [`Speak, ${given.word}`, "a "]);
await openGate(`${given.word}-stop`);

// Another connection takes up a run that goes on.
const streaming = client.runs.stream(thread, "agent", {
  input: human(`Again, ${given.word}`),
  streamMode: "messages-tuple",
  streamResumable: true,
  onRunCreated: (run) => (created = run),
});
for await (const part of streaming) if (part.event === "messages" && textOf(part.data[0].content)) break;
const joined = [];
for await (const part of client.runs.joinStream(thread, created.run_id, { lastEventId: "-1" })) {
  if (part.event !== "messages" || !textOf(part.data[0].content)) continue;
  joined.push(textOf(part.data[0].content));
  if (joined.length === 1) await openGate(`${given.word}-join`);
}
assert.deepEqual(joined, ["x ", "y"]);

await client.threads.delete(thread);
await assert.rejects(client.threads.get(thread), /404/);
