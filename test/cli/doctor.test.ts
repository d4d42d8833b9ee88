// What doctor finds beside what the service refuses.

import { createServer } from "node:http";
import { afterEach, expect, it } from "vitest";
import { type Check, examine } from "../../cli/doctor.ts";
import { VERSION } from "../../contract/words/version.ts";
import { Signalbox } from "../../sdk/signalbox.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const worker = { instance: "w1", provider: "ollama", paused: false, unavailable: null, models: ["llama3.2", "qwen"] };

/** The checks of a service with one worker, whose runtime lists these models. */
const checksWith = async (
  models: string[] | null,
  runtimeModels: string[] | null,
  about: Check["what"] = "runtime",
  followJob: Parameters<typeof examine>[3] = null,
  explained: object = { selected: "w1", notes: [], workers: [] },
  killswitch: object = { active: false, level: 0, reason: null },
) => {
  const one = { ...worker, models };
  const answers: Record<string, object> = {
    "/health": { status: "ok", version: VERSION },
    "/session": { name: "k", role: "standard", tenant: "t" },
    "/killswitch": killswitch,
    "/presence": { workers: [one], total: 1 },
    "/api/workers/w1": { ...one, runtime_models: runtimeModels },
    "/dispatch/explain": explained,
  };
  const server = createServer((request, response) => {
    const found = answers[request.url?.split("?")[0] ?? ""];
    response.writeHead(found === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(found ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  const client = new Signalbox({ url, key: "sb_1" });
  const checks: Check[] = [];
  const examined = examine(client, { url, key: "sb_1" }, { tags: [] }, followJob, AbortSignal.timeout(5_000));
  for await (const check of examined) checks.push(check);
  return checks.filter(({ what, verdict }) => what === about && verdict !== "good");
};

it("a runtime that lost the worker's model is named, with what to do", async () => {
  expect(await checksWith(["llama3.2"], ["mistral"])).toEqual([
    {
      what: "runtime",
      verdict: "bad",
      says: expect.stringContaining("w1: its runtime does not have llama3.2: load it"),
    },
  ]);
  expect(await checksWith(["llama3.2", "qwen"], ["qwen"])).toEqual([
    { what: "runtime", verdict: "warning", says: expect.stringContaining("llama3.2") },
  ]);
});

it.each([
  ["whose runtime lists them by another name", ["llama3.2", "qwen"], ["llama3.2:latest", "/models/qwen.gguf"]],
  ["whose runtime does not say what it has", ["llama3.2"], null],
  ["whose runtime's list may have been cut", ["llama3.2"], Array.from({ length: 500 }, (_, at) => `m${at}`)],
  ["that names none", null, ["mistral"]],
])("a worker %s has lost nothing", async (_who, models, runtimeModels) => {
  expect(await checksWith(models, runtimeModels)).toEqual([]);
});

it.each([
  [null, "at level 1: `signalbox killswitch off"],
  ["a loop", "at level 1 (a loop): `signalbox killswitch off"],
])("a halt whose reason is %j is told", async (reason, says) => {
  const [check] = await checksWith(null, null, "killswitch", null, undefined, { active: true, level: 1, reason });
  expect(check?.says).toContain(says);
});

it("a job that is refused is a finding beside the others", async () => {
  const never = () => Promise.reject(new Error("there is no job to follow"));
  expect(await checksWith(null, null, "job", never)).toEqual([
    { what: "job", verdict: "bad", says: expect.stringContaining("none can be created: ") },
  ]);
});

it("workers that would not get a job for the same reason are told together", async () => {
  const workers = ["a", "b", "c"].map((instance) => ({ instance, reasons: [instance === "c" ? "paused" : "offline"] }));
  const [check] = await checksWith(null, null, "model", null, { selected: null, notes: [], workers });
  expect(check?.says).toBe("no worker would get a job without a model: 2 workers: offline; c: paused");
});

it("a service without any worker has a reason why none would get a job", async () => {
  const none = { selected: null, notes: [], workers: [] };
  expect(await checksWith(null, null, "model", null, none)).toEqual([
    { what: "model", verdict: "bad", says: "no worker would get a job without a model: none is online" },
  ]);
});
