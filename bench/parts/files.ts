// A large file up and down: how fast, how soon its first byte comes, what a range costs, and that no process holds it.

import { createHash, randomBytes } from "node:crypto";
import { figure } from "../figures.ts";
import { median } from "../load.ts";
import { refuseGrowth, watchGrowth } from "../measure/memory.ts";
import type { Bench } from "../plan.ts";
import { createTenant, type Tenant } from "../signalbox.ts";

const MIB = 1024 * 1024;
const FILE_MIB = { quick: 64, usual: 512, full: 512 } as const;
const PART_MIB = 64;
const SAMPLES = { quick: 20, usual: 100, full: 300 } as const;
const RANGE_BYTES = 64 * 1024;
/** Of any process, whatever the file has; most of it is what the garbage collector has not looked at yet. */
const MAX_GROWTH_MIB = 100;

interface Stage {
  readonly bench: Bench;
  readonly tenant: Tenant;
  readonly url: string;
  readonly bytes: number;
}

export async function files(bench: Bench): Promise<void> {
  const tenant = await createTenant(bench.signalbox.port);
  const stage = { bench, tenant, url: `http://127.0.0.1:${tenant.port}`, bytes: FILE_MIB[bench.scale] * MIB };
  for (const [way, send] of Object.entries(WAYS)) {
    const id = await measured(stage, `up ${way}`, () => send(stage));
    const etag = await measured(stage, `down, sent ${way}`, () => readAll(stage, id));
    if (etag !== digestOf(stage.bytes)) throw new Error(`the file that went up ${way} came down otherwise: ${etag}`);
    if (way === "as a body") await sayReads(stage, id);
    await ask(stage, "DELETE", `/api/files/${id}`);
  }
}

async function measured<T>({ bench, bytes }: Stage, what: string, run: () => Promise<T>): Promise<T> {
  const grown = watchGrowth(bench.signalbox);
  const startedAt = performance.now();
  const result = await run();
  const rate = bytes / MIB / ((performance.now() - startedAt) / 1000);
  const growth = grown();
  bench.say(
    figure({ part: "files", what: `${bytes / MIB} MiB ${what}`, unit: "MiB/s", signalbox: rate, note: growth.note }),
  );
  refuseGrowth(growth, MAX_GROWTH_MIB);
  return result;
}

const PIECE = randomBytes(MIB);

async function* pieces(bytes: number): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < bytes; sent += MIB) yield PIECE;
}

const digestOf = (bytes: number): string => {
  const hash = createHash("sha256");
  for (let sent = 0; sent < bytes; sent += MIB) hash.update(PIECE);
  return hash.digest("hex");
};

async function* form(field: string, bytes: number): AsyncGenerator<Uint8Array> {
  const head = '--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n';
  const file = `--b\r\ncontent-disposition: form-data; name="${field}"; filename="large"\r\n\r\n`;
  yield Buffer.from(field === "file" ? head + file : file);
  yield* pieces(bytes);
  yield Buffer.from("\r\n--b--\r\n");
}

const FORM = "multipart/form-data; boundary=b";

const WAYS: Readonly<Record<string, (stage: Stage) => Promise<string>>> = {
  "as a body": async (stage) =>
    idIn(await send(stage, "/api/files?name=large", "application/octet-stream", pieces(stage.bytes))),
  "as a form": async (stage) => idIn(await send(stage, "/v1/files", FORM, form("file", stage.bytes))),
  "in parts": async (stage) => {
    const { bytes } = stage;
    const asked = { filename: "large", purpose: "user_data", bytes, mime_type: "application/octet-stream" };
    const upload = idIn(await ask(stage, "POST", "/v1/uploads", asked));
    const part_ids: string[] = [];
    for (let sent = 0; sent < bytes; sent += PART_MIB * MIB)
      part_ids.push(idIn(await send(stage, `/v1/uploads/${upload}/parts`, FORM, form("data", PART_MIB * MIB))));
    const startedAt = performance.now();
    const { file } = (await ask(stage, "POST", `/v1/uploads/${upload}/complete`, { part_ids })) as { file: unknown };
    const seconds = (performance.now() - startedAt) / 1000;
    stage.bench.say(figure({ part: "files", what: `${bytes / MIB} MiB completed`, unit: "s", signalbox: seconds }));
    return idIn(file);
  },
};

const idIn = (answer: unknown): string => (answer as { id: string }).id;

async function send(stage: Stage, path: string, type: string, body: AsyncGenerator<Uint8Array>): Promise<unknown> {
  const headers = { authorization: stage.tenant.authorization, "content-type": type };
  const init = { method: "POST", headers, body, duplex: "half" } as unknown as RequestInit;
  return answerOf(await fetch(stage.url + path, init));
}

async function ask({ tenant, url }: Stage, method: string, path: string, body?: unknown): Promise<unknown> {
  const headers = { authorization: tenant.authorization, "content-type": "application/json" };
  return answerOf(
    await fetch(url + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }),
  );
}

async function answerOf(response: Response): Promise<unknown> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${text.slice(0, 300)}`);
  return text === "" ? null : JSON.parse(text);
}

const read = ({ tenant, url }: Stage, id: string, range?: string): Promise<Response> =>
  fetch(`${url}/api/files/${id}/content`, {
    headers: { authorization: tenant.authorization, ...(range === undefined ? {} : { range }) },
  });

/** The digest of what came. */
async function readAll(stage: Stage, id: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of (await read(stage, id)).body ?? []) hash.update(chunk as Uint8Array);
  return hash.digest("hex");
}

async function sayReads(stage: Stage, id: string): Promise<void> {
  const { bench, bytes } = stage;
  const [first, range]: number[][] = [[], []];
  for (let sample = 0; sample < SAMPLES[bench.scale]; sample += 1) {
    const startedAt = performance.now();
    const reader = (await read(stage, id)).body?.getReader();
    await reader?.read();
    first?.push(performance.now() - startedAt);
    await reader?.cancel();
    const from = Math.floor(Math.random() * (bytes - RANGE_BYTES));
    const askedAt = performance.now();
    const part = await (await read(stage, id, `bytes=${from}-${from + RANGE_BYTES - 1}`)).arrayBuffer();
    if (part.byteLength !== RANGE_BYTES) throw new Error(`a range has ${part.byteLength} bytes`);
    range?.push(performance.now() - askedAt);
  }
  const say = (what: string, found: number[] = []): void =>
    bench.say(
      figure({ part: "files", what, unit: "ms", signalbox: median(found), note: `of a file of ${bytes / MIB} MiB` }),
    );
  say("first byte, p50", first);
  say("any 64 KiB, p50", range);
}
