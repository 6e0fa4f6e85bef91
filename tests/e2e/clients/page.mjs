// useStream in a real browser, its page on another origin: what a person does, and what the page then shows.
import assert from "node:assert/strict";

import { inBrowser } from "./browser.mjs";
import { client, given, openGate, said, until } from "./chat.mjs";

const word = given.word;
const idle = (thread) => until("an idle thread", async () => (await client.threads.get(thread)).status === "idle");

await inBrowser(async ({ open }) => {
  const tab = await open();

  // A token at a time, and nothing twice when the state arrives.
  await tab.ask(`Count, ${word}`);
  await tab.hears("one");
  await openGate(`${word}-first`);
  await tab.shows(`Count, ${word}`, "one two");
  await tab.rests();
  await tab.shows(`Count, ${word}`, "one two");
  const { thread } = tab;
  const checkpoints = await tab.checkpoints();

  await tab.ask(`And then, ${word}?`);
  await tab.shows(`Count, ${word}`, "one two", `And then, ${word}?`, "three");
  await tab.rests();
  assert.equal(await tab.checkpoints(), checkpoints + 1);

  // The browser asked before it called: once for each address, and not again for the second turn.
  assert.equal(tab.sent.filter((path) => path.endsWith("/runs/stream")).length, 2);
  assert.deepEqual([...tab.preflights].sort(), ["/threads", `/threads/${thread}/history`, `/threads/${thread}/runs/stream`]);

  // Edit the second question, and go back to what it was.
  await tab.type(`Instead, ${word}`);
  await tab.pressAt(2, "edit");
  await tab.shows(`Count, ${word}`, "one two", `Instead, ${word}`, "four");
  await tab.rests();
  await tab.pressAt(2, "branch 1");
  await tab.shows(`Count, ${word}`, "one two", `And then, ${word}?`, "three");
  await tab.pressAt(2, "branch 2");
  await tab.shows(`Count, ${word}`, "one two", `Instead, ${word}`, "four");

  // Answer again.
  await tab.pressAt(3, "again");
  await tab.shows(`Count, ${word}`, "one two", `Instead, ${word}`, "five");
  await tab.rests();

  // Reload twice in the middle of an answer: the page goes on where the run is.
  await tab.ask(`Reload, ${word}`);
  await tab.hears("before");
  await tab.reload();
  await tab.hears("before");
  await tab.reload();
  await tab.hears("before");
  await openGate(`${word}-reload`);
  await tab.hears("before after");
  await tab.rests();
  assert.equal((await tab.said()).length, 6);

  // Stop: what was said is kept.
  await tab.ask(`Speak, ${word}`);
  await tab.hears("a");
  await tab.press("stop");
  await tab.rests();
  await idle(thread);
  await openGate(`${word}-stop`);
  assert.deepEqual(said((await client.threads.getState(thread)).values.messages).slice(6), [`Speak, ${word}`, "a "]);
  await tab.reload();
  await tab.hears("a");
  await tab.rests();

  // A run that is cancelled ends its stream, with what was said on the page.
  await tab.ask(`Halt, ${word}`);
  await tab.hears("b");
  await tab.press("end");
  await tab.rests();
  assert.deepEqual((await tab.said()).slice(6), [`Speak, ${word}`, "a ", `Halt, ${word}`, "b "]);
  await openGate(`${word}-halt`);

  // A model that fails is an error on the page, in words for people.
  await tab.ask(`Fail, ${word}`);
  assert.match(await tab.error(), /\w/);
  assert.doesNotMatch(await tab.error(), /Traceback|Exception|arn:/);
  await tab.rests();

  // The first question of a thread is edited like any other, and its answer made again.
  const other = await open();
  await other.ask(`First, ${word}`);
  await other.shows(`First, ${word}`, "six");
  await other.rests();
  await other.type(`Rather, ${word}`);
  await other.pressAt(0, "edit");
  await other.shows(`Rather, ${word}`, "seven");
  await other.rests();
  await other.pressAt(1, "again");
  await other.shows(`Rather, ${word}`, "eight");
  await other.rests();
  // Beside the answer: two branches have the question, and the hook looks for it in the older one.
  await other.pressAt(1, "branch 1");
  await other.shows(`First, ${word}`, "six");

  // A refusal that API Gateway makes itself is one that the page can read.
  const refused = await tab.page.evaluate(async (url) => {
    const reply = await fetch(`${url}/threads`, { method: "POST", headers: { Authorization: "Bearer nothing" } });
    return reply.status;
  }, given.url);
  assert.equal(refused, 401);
  if (given.picture) await tab.page.screenshot({ path: given.picture });
});
