// A large file passes through every process of the server, up and down, and none of them holds it.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { childProcesses, servingProcess } from "../support/child-processes.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const MIB = 1024 * 1024;
const FILE_MIB = 256;
const MAX_GROWTH_MIB = 100;
/** Line breaks at every place of a form's buffer. */
const PIECE = Buffer.from("a line of a file\r\n".repeat(MIB / 18 + 1)).subarray(0, MIB);

const data = folderForEachTest();
let server: SelfHosted | null = null;

afterEach(async () => {
  await server?.kill();
  server = null;
});

/** The kernel notes the most memory that a process has had since this. */
const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, "5");

const mib = (pid: number, field: "VmHWM" | "VmRSS"): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

const FORM_HEAD = [
  '--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data',
  '--b\r\nContent-Disposition: form-data; name="file"; filename="large"\r\n\r\n',
].join("\r\n");

async function* pieces(): AsyncGenerator<Uint8Array> {
  for (let count = 0; count < FILE_MIB; count += 1) yield PIECE;
}

async function* form(): AsyncGenerator<Uint8Array> {
  yield Buffer.from(FORM_HEAD);
  yield* pieces();
  yield Buffer.from("\r\n--b--\r\n");
}

const WAYS = {
  "as a body": { path: "/api/files?name=large", type: "application/octet-stream", body: pieces },
  "as a form": {
    path: "/v1/files",
    type: "multipart/form-data; boundary=b",
    body: form,
  },
};

test("a file of 256 MiB goes up and comes down, and no process grows with it", async () => {
  server = await startSelfHosted(data.path);
  const { url, adminKey } = server;
  const authorization = `Bearer ${adminKey}`;
  const pids = [servingProcess(data.path) ?? 0, ...childProcesses(data.path).map(({ pid }) => pid)];
  for (const [way, { path, type, body }] of Object.entries(WAYS)) {
    const before = pids.map((pid) => mib(pid, "VmRSS"));
    for (const pid of pids) forgetPeak(pid);
    const init = { method: "POST", headers: { authorization, "content-type": type }, body: body(), duplex: "half" };
    const made = await fetch(`${url}${path}`, init as unknown as RequestInit);
    const { id, ...record } = (await made.json()) as { id: string };
    expect(record, way).toMatchObject({ bytes: FILE_MIB * MIB });
    const content = await fetch(`${url}/api/files/${id}/content`, { headers: { authorization } });
    const digest = createHash("sha256");
    for await (const chunk of content.body ?? []) digest.update(chunk);
    expect(content.headers.get("etag")).toBe(`"${digest.digest("hex")}"`);
    for (const [at, pid] of pids.entries())
      expect(mib(pid, "VmHWM") - (before[at] ?? 0), `${way}, process ${at}`).toBeLessThan(MAX_GROWTH_MIB);
  }
  expect(server.output(), "what Node warns of").not.toContain("Warning");
}, 120_000);
