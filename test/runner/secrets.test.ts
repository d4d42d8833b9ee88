// A provider's key is nowhere in the clear: not in an answer, a log, a webhook, a file of the data folder or a backup,
// whatever the provider does with it.

import { execFile } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { secretForms } from "../../contract/text/secret-text.ts";
import { WEBHOOK_EVENTS } from "../../domain/webhook.ts";
import { eventually } from "../support/eventually.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";
import type { Behaviour } from "../worker/runtimes/mock-runtime.ts";
import { type Hosted, startHosted, KEY as TENANTS_KEY } from "./hosted.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const OPERATORS_KEY = "ok-operators-fedcba9876543210";
const KEYS = { tenants: TENANTS_KEY, operators: OPERATORS_KEY };

const folder = folderForAllTests();
const heard: string[] = [];
let hosted: Hosted;
let listener: Server;

beforeAll(async () => {
  listener = createServer(async (request, response) => {
    for await (const chunk of request) heard.push(String(chunk));
    response.end();
  }).listen(0, "127.0.0.1");
  hosted = await startHosted(path.join(folder.path, "data"), {
    PROVIDER_CLAUDIA_KEY: OPERATORS_KEY,
    SERVICE_WEBHOOKS_PRIVATE: "1",
    SERVICE_LOG_LEVEL: "debug",
    SERVICE_LOG_REQUESTS: "1",
  });
}, 120_000);

afterAll(async () => {
  listener?.close();
  await hosted?.stop();
});

/** Every request goes through here, so that its whole answer is kept. */
const answers: string[] = [];
const ask = async (method: string, route: string, body?: unknown): Promise<{ status: number; text: string }> => {
  const response = await fetch(hosted.server.url + route, {
    method,
    headers: { authorization: `Bearer ${hosted.server.adminKey}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  answers.push(`${method} ${route} ${JSON.stringify([...response.headers])} ${text}`);
  return { status: response.status, text };
};

/** Where each key is found, in any form. */
const leaksIn = (places: Iterable<readonly [string, string]>): string[] => {
  const forms = Object.entries(KEYS).flatMap(([whose, key]) => secretForms(key).map((form) => [whose, form] as const));
  return [...places].flatMap(([place, text]) =>
    forms.filter(([, form]) => text.includes(form)).map(([whose]) => `the ${whose} key in ${place}`),
  );
};

const filesIn = (dir: string): [string, string][] =>
  readdirSync(dir, { recursive: true, encoding: "utf8" })
    .map((name) => path.join(dir, name))
    .filter((name) => statSync(name).isFile())
    .map((name) => [name, readFileSync(name, "latin1")]);

/** What a provider answers that repeats the key wherever it can. */
const quoting = (key: string): readonly Behaviour[] => [
  { status: 500, errorBody: { error: { message: `who is ${key}?`, code: key, type: key } } },
  { status: 500, errorBody: `<html>Authorization: Bearer ${key}</html>` },
  { status: 400, errorBody: { error: { message: `Basic ${btoa(`user:${key}`)}` } } },
  { status: 400, errorBody: { detail: encodeURIComponent(key), [key]: key } },
  { status: 429, headers: { "x-key": key }, errorBody: { error: { message: `slow down, ${key}` } } },
  { status: 307, headers: { location: `http://127.0.0.1:1/?key=${key}` }, errorBody: key },
  { status: 200, errorBody: { error: { message: key } } },
  { status: 200, errorBody: { id: key, model: key, choices: [{ message: { content: key } }], content: [], usage: {} } },
  { model: key, words: ["fine"] },
  { words: [`it is ${key}`] },
  { words: ["one", key, "three"], delayMs: 5 },
  { words: ["one", "two"], cutAfter: 1, model: key },
  { status: 402, errorBody: { error: { message: `${key} has no money` } } },
  { status: 401, errorBody: { error: { message: `bad key ${key}`, code: "invalid_api_key" } } },
  { status: 200, errorBody: { object: "list", data: "y".repeat(1_200_000), note: key } },
];

const ONCE = { jobs: { max_attempts: 1 } };
const HELLO = [{ role: "user", content: "hello" }];
const PROVIDERS = [
  { provider: "acme", model: "m1", key: TENANTS_KEY, route: "/v1/chat/completions" },
  { provider: "claudia", model: "c1", key: OPERATORS_KEY, route: "/v1/messages" },
] as const;

const driveAll = async () => {
  for (const { provider, model, key, route } of PROVIDERS) {
    for (const behaviour of quoting(key)) {
      hosted[provider].behave = () => behaviour;
      for (const stream of [false, true]) {
        // A refused key is tried again once the config is set.
        await hosted.enable({}, ONCE);
        await ask("POST", route, { model, max_tokens: 9, messages: HELLO, stream });
      }
      await hosted.enable({}, ONCE);
      const { id } = JSON.parse((await ask("POST", "/api/jobs", { prompt: "x", provider, model })).text);
      await ask("GET", `/api/jobs/${id}?wait=5`);
    }
    hosted[provider].behave = () => undefined;
    await hosted.enable({}, ONCE);
    expect((await ask("POST", route, { model, max_tokens: 9, messages: HELLO })).status).toBe(200);
  }
};

const READS = [
  ...["/config", "/api/audit", "/metrics", "/api/keys", "/api/provider-keys", "/api/workers", "/api/queue"],
  ...["/api/failures", "/api/cost", "/api/providers", "/api/events", "/api/jobs?limit=100", "/v1/models"],
  ...["/dispatch/explain?provider=acme&model=m1", "/api/webhooks", "/health", "/api/overview"],
];

test("a provider's key is in no answer, log, webhook or file, though the provider repeats it wherever it can", async () => {
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/`;
  await ask("POST", "/api/webhooks", { url, events: WEBHOOK_EVENTS });
  expect((await ask("PUT", "/api/provider-keys/acme", { key: TENANTS_KEY })).status).toBe(204);
  await ask("PUT", "/api/provider-keys/acme", { key: [TENANTS_KEY] });
  await ask("PUT", "/api/provider-keys/nobody", { key: TENANTS_KEY });
  await driveAll();
  for (const route of READS) await ask("GET", route);
  const { jobs } = JSON.parse((await ask("GET", "/api/jobs?limit=100")).text);
  expect(jobs.length).toBeGreaterThan(50);
  for (const { id } of jobs)
    for (const part of ["", "/events", "/attempts"]) await ask("GET", `/api/jobs/${id}${part}`);
  await eventually(() => expect(heard.join("")).toContain("job.failed"));
  expect(hosted.acme.asked.some(({ headers }) => headers.authorization === `Bearer ${TENANTS_KEY}`)).toBe(true);
  expect(hosted.claudia.asked.some(({ headers }) => headers["x-api-key"] === OPERATORS_KEY)).toBe(true);

  const archive = path.join(folder.path, "copy.tar");
  await promisify(execFile)(process.execPath, ["scripts/setup.mjs", "scripts/backup.ts", archive], {
    cwd: ROOT,
    env: { ...process.env, SERVICE_DATA_DIR: path.join(folder.path, "data") },
  });
  const files = filesIn(folder.path);
  expect(files.map(([name]) => name)).toContain(archive);
  expect(
    leaksIn([
      ...answers.map((text) => [text.slice(0, 200), text] as const),
      ...heard.map((text) => [`a webhook: ${text.slice(0, 200)}`, text] as const),
      ...hosted.server
        .output()
        .split("\n")
        .map((line) => [`the log: ${line.slice(0, 200)}`, line] as const),
      ...files,
    ]),
  ).toEqual([]);
}, 180_000);
