// What every script here begins with: where the product is, who asks, and the scripted model's gates.
import { Client } from "@langchain/langgraph-sdk";

export const given = JSON.parse(process.argv[2]);

export const headers = { Authorization: `Bearer ${given.token}` };

export const client = new Client({ apiUrl: given.url, apiKey: null, defaultHeaders: headers });

export const human = (content) => ({ messages: [{ type: "human", content }] });

export async function openGate(gate) {
  const answer = await fetch(`${given.modelUrl}/_control/gates/${gate}`, { method: "POST" });
  if (!answer.ok) throw new Error(`The gate answered ${answer.status}.`);
}

export function textOf(content) {
  return typeof content === "string" ? content : content.map((part) => part.text ?? "").join("");
}

export const said = (messages) => messages.map((message) => textOf(message.content));

// Looks again until something holds; what it is about is told when it never does.
export async function until(what, look) {
  const end = Date.now() + 60_000;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`This never came: ${typeof what === "function" ? what() : what}`);
    await new Promise((wake) => setTimeout(wake, 50));
  }
}
