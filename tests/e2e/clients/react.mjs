// useStream in a page: stream, second turn, edit, answer again, reload in the middle, stop, error, pause and go on.
import assert from "node:assert/strict";

import { JSDOM } from "jsdom";

import { client, given, headers, human, openGate, said, until } from "./chat.mjs";

const page = new JSDOM('<div id="chat"></div>', { url: "http://localhost/", pretendToBeVisual: true });
Object.assign(globalThis, { window: page.window, document: page.window.document });

const { createElement } = await import("react");
const { createRoot } = await import("react-dom/client");
const { useStream } = await import("@langchain/langgraph-sdk/react");

let shown; // what the hook last gave
let thread = null;

function Chat({ threadId }) {
  shown = useStream({
    apiUrl: given.url,
    assistantId: "agent",
    defaultHeaders: headers,
    threadId,
    onThreadId: (id) => (thread = id),
    messagesKey: "messages",
    fetchStateHistory: true,
    reconnectOnMount: true,
  });
  return createElement("ol", null, shown.messages.map((each) => createElement("li", { key: each.id }, said([each])[0])));
}

let root;
function open(threadId) {
  root = createRoot(page.window.document.getElementById("chat"));
  root.render(createElement(Chat, { threadId }));
}

const onPage = () => [...page.window.document.querySelectorAll("li")].map((each) => each.textContent);
const shows = (...texts) =>
  until(`${JSON.stringify(texts)}, not ${JSON.stringify(onPage())}`, () => JSON.stringify(onPage()) === JSON.stringify(texts));
const rests = () => until("a stream that has ended", () => !shown.isLoading && !shown.isThreadLoading);
const word = given.word;

open(null);
await until("the hook", () => shown);

// A token at a time, and nothing twice when the state arrives.
shown.submit(human(`Count, ${word}`));
await until("the first token", () => onPage().at(-1)?.trim() === "one");
await openGate(`${word}-first`);
await shows(`Count, ${word}`, "one two");
await rests();
assert.deepEqual(onPage(), [`Count, ${word}`, "one two"]);

// From here on the page shows a thread that it knows.
root.unmount();
open(thread);
await shows(`Count, ${word}`, "one two");
await rests();
shown.submit(human(`And then, ${word}?`));
await shows(`Count, ${word}`, "one two", `And then, ${word}?`, "three");
await rests();
// The hook gives the oldest first.
assert.deepEqual(shown.history.map((each) => each.values.messages.length), [0, 2, 4]);

// Edit the second question: a branch from before it.
const edited = shown.messages[2];
const before = shown.getMessagesMetadata(edited).firstSeenState.parent_checkpoint;
shown.submit(human(`Instead, ${word}`), { checkpoint: before });
await shows(`Count, ${word}`, "one two", `Instead, ${word}`, "four");
await rests();
assert.equal(shown.getMessagesMetadata(shown.messages[2]).branchOptions?.length, 2);

// Answer again from the same place.
const place = shown.getMessagesMetadata(shown.messages[3]).firstSeenState.parent_checkpoint;
shown.submit(undefined, { checkpoint: place });
await shows(`Count, ${word}`, "one two", `Instead, ${word}`, "five");
await rests();

// Reload in the middle of an answer.
shown.submit(human(`Reload, ${word}`));
await until("the start of the answer", () => onPage().at(-1)?.trim() === "before");
root.unmount();
open(thread);
await until("the run taken up", () => shown.isLoading && onPage().at(-1)?.trim() === "before");
await openGate(`${word}-reload`);
await until("the rest of the answer", () => onPage().at(-1) === "before after");
await rests();

// Stop.
shown.submit(human(`Speak, ${word}`));
await until("the start of the answer", () => onPage().at(-1)?.trim() === "a");
await shown.stop();
await until("an idle thread", async () => (await client.threads.get(thread)).status === "idle");
await openGate(`${word}-stop`);
const kept = await client.threads.getState(thread);
assert.deepEqual(said(kept.values.messages).slice(-2), [`Speak, ${word}`, "a "]);
await rests();

// A model that fails.
shown.submit(human(`Fail, ${word}`));
await until("an error", () => shown.error);
await rests();
assert.ok(!String(shown.error).includes("Traceback"));

// Stop before a node, look, go on.
shown.submit(human(`Wait, ${word}`), { interruptBefore: ["trigger_background_agent"] });
await until("an answer that waits", () => onPage().at(-1) === "waited");
await rests();
assert.equal((await client.threads.getState(thread)).next[0], "trigger_background_agent");
shown.submit(null);
await until("the end of the turn", async () => (await client.threads.getState(thread)).next.length === 0);
await rests();

root.unmount();
page.window.close();
