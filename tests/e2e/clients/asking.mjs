// An agent that asks back, in a real browser: the question is on the page, also after a reload, and the answer goes on.
import assert from "node:assert/strict";

import { inBrowser } from "./browser.mjs";
import { client, given } from "./chat.mjs";

const word = given.word;

await inBrowser(async ({ open }) => {
  const tab = await open();
  await tab.ask(`Book, ${word}`);
  await tab.isAsked("Which day?");
  await tab.rests();
  // What the agent said before it asked is the thread's when its turn is over.
  await tab.shows(`Book, ${word}`);
  assert.equal((await client.threads.get(tab.thread)).status, "interrupted");

  await tab.reload();
  await tab.isAsked("Which day?");
  await tab.shows(`Book, ${word}`);

  await tab.type("Monday");
  await tab.press("answer");
  await tab.shows(`Book, ${word}`, "Let me ask.", "The user says: Monday", "Booked.");
  await tab.rests();
  await tab.isAsked(null);
  assert.equal((await client.threads.get(tab.thread)).status, "idle");
  if (given.picture) await tab.page.screenshot({ path: given.picture });
});
