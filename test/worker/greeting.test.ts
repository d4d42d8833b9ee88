import { expect, test } from "vitest";
import { VERSION } from "../../contract/words/version.ts";
import { greeting, versionWarning } from "../../worker/greeting.ts";

const settings = { instance: "w1", provider: null, runtime: null, concurrency: 2, apiUrl: "http://here" };
const echo = { name: "echo", address: null };

test("a worker that looked for a runtime and found none says in one line what it serves, why, and what to do", () => {
  expect(greeting(settings, echo)).toMatch(
    /^w1 serves echo with echo, 2 at a time, for http:\/\/here, because it found no model runtime .*: start one/,
  );
});

test("a worker that found one, or was told to echo, says what it serves", () => {
  const ollama = { name: "ollama", address: "http://127.0.0.1:11434" };
  expect(greeting(settings, ollama)).toBe(
    "w1 serves ollama with ollama at http://127.0.0.1:11434, 2 at a time, for http://here",
  );
  expect(greeting({ ...settings, runtime: "echo", provider: "mine" }, echo)).toBe(
    "w1 serves mine with echo, 2 at a time, for http://here",
  );
});

test("a worker of another version than its coordinator says so, and where the coordinator has its own", async () => {
  const npx = (address: string) => `npx ${address} worker`;
  const answering = (answer: BodyInit) => (async () => new Response(answer)) as typeof fetch;
  const warningAt = (health: unknown) => versionWarning("http://here", npx, answering(JSON.stringify(health)));
  expect(await warningAt({ status: "ok", version: "9.9.9" })).toBe(
    `this is version ${VERSION}, the coordinator is 9.9.9: npx http://here/signalbox.tgz?9.9.9 worker has the same version`,
  );
  for (const health of [{ status: "ok", version: VERSION }, { status: "ok" }, { version: 9 }, [], null])
    expect(await warningAt(health)).toBeNull();
  expect(await versionWarning("http://here", npx, answering("<html>"))).toBeNull();
  expect(await versionWarning("http://here", npx, () => Promise.reject(new Error("no route")))).toBeNull();
});
