// A real browser for a page on another origin than the product: what tests drive it with.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

import { build } from "esbuild";
import { chromium } from "playwright-core";

import { given, until } from "./chat.mjs";

// The browser's own services reach for the network, which tests must not.
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

async function served() {
  const bundle = await build({
    entryPoints: ["page/chat.jsx"],
    bundle: true,
    write: false,
    format: "esm",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const script = bundle.outputFiles[0].contents;
  const page = await readFile("page/index.html");
  const server = createServer((request, response) => {
    const [type, body] = request.url === "/chat.js" ? ["text/javascript", script] : ["text/html", page];
    response.writeHead(200, { "Content-Type": type }).end(body);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return { origin: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** Opens the chat in a browser while `use` runs. A browser keeps what its tabs share; each tab keeps its own session. */
export async function inBrowser(use) {
  const pages = await served();
  const browser = await chromium.launch({ executablePath: given.chromium, args: FLAGS });
  try {
    const context = await browser.newContext();
    await context.addInitScript((known) => (window.given = known), { url: given.url, token: given.token });
    await use({ open: async (path = "/") => new Tab(await context.newPage()).at(`${pages.origin}${path}`) });
  } finally {
    await browser.close();
    pages.close();
  }
}

/** One tab with the chat. */
export class Tab {
  sent = [];
  preflights = [];
  complaints = [];

  constructor(page) {
    this.page = page;
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("console", (message) => message.type() === "error" && this.complaints.push(message.text()));
  }

  async at(address) {
    const devtools = await this.page.context().newCDPSession(this.page);
    devtools.on("Network.requestWillBeSent", ({ request }) => {
      (request.method === "OPTIONS" ? this.preflights : this.sent).push(new URL(request.url).pathname);
    });
    await devtools.send("Network.enable");
    await this.page.goto(address);
    return this;
  }

  type(text) {
    return this.page.getByLabel("text").fill(text);
  }

  press(name) {
    return this.page.getByRole("button", { name, exact: true }).click();
  }

  /** Presses a button beside the message with this number. */
  pressAt(number, name) {
    return this.page.locator("li").nth(number).getByRole("button", { name, exact: true }).click();
  }

  async ask(text) {
    await this.type(text);
    await this.press("ask");
  }

  said() {
    return this.page.locator("li p").allTextContents();
  }

  async shows(...texts) {
    const wanted = JSON.stringify(texts);
    let seen;
    await until(
      () => `${wanted}, not ${seen}; the console: ${this.complaints}`,
      async () => (seen = JSON.stringify(await this.said())) === wanted,
    );
  }

  /** The last message begins like this: a token has come, and its gate holds back the next. */
  async hears(text) {
    let seen;
    await until(() => `"${text}", not "${seen}"`, async () => (seen = (await this.said()).at(-1)?.trim()) === text);
  }

  async rests() {
    await this.page.locator("output", { hasText: "at rest" }).waitFor();
  }

  /** What the agent wants to know; `null`: nothing. */
  async isAsked(question) {
    const shown = this.page.locator("#question span");
    await (question === null ? shown.waitFor({ state: "detached" }) : shown.filter({ hasText: question }).waitFor());
  }

  async error() {
    return this.page.getByRole("alert").textContent();
  }

  async checkpoints() {
    return parseInt(await this.page.locator("small").textContent());
  }

  get thread() {
    return new URL(this.page.url()).searchParams.get("thread");
  }

  async reload() {
    await this.page.reload();
  }
}
