// One thread in two tabs of a browser: the second asks while the first is still being answered.
import assert from "node:assert/strict";

import { inBrowser } from "./browser.mjs";
import { given, openGate, until } from "./chat.mjs";

const word = given.word;
const all = [`Mine, ${word}`, "one two", `Yours, ${word}`, "three"];

await inBrowser(async ({ open }) => {
  const first = await open();
  await first.ask(`Mine, ${word}`);
  await first.hears("one");

  const second = await open(`/?thread=${first.thread}`);
  await second.rests();
  await second.ask(`Yours, ${word}`);
  await second.hears(`Yours, ${word}`);
  // Its question waits for the answer to the first.
  await until("a second request", async () => second.sent.some((path) => path.endsWith("/runs/stream")));
  await openGate(`${word}-first`);

  await first.shows(...all.slice(0, 2));
  await second.shows(...all);
  await second.rests();
  assert.deepEqual([first, second].flatMap((tab) => tab.complaints), []);

  // A tab shows what others said when it is loaded again.
  await first.reload();
  await first.shows(...all);
});
