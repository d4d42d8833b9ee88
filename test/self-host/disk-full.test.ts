// A disk that fills up while the server runs: a file system of a few megabytes, made for the test if that is allowed.

import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { dataDirAt } from "../../self-host/data/data-dir.ts";
import { fullDiskError, readDisk } from "../../self-host/data/disk.ts";
import { keepProcessCount } from "../../self-host/data/process-count.ts";
import { serveFreezing } from "../../self-host/freeze.ts";
import { send } from "../support/requests.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const MIB = 1024 * 1024;
/** A twentieth of it counts as full. */
const SIZE = "100m";

let mount = "";
let isMounted = false;
let server: SelfHosted | null = null;

const mayMount = (() => {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  const place = mkdtempSync(path.join(tmpdir(), "signalbox-mount-"));
  const made = spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", place]).status === 0;
  if (made) spawnSync("umount", [place]);
  rmSync(place, { recursive: true, force: true });
  return made;
})();

beforeEach(() => {
  mount = mkdtempSync(path.join(tmpdir(), "signalbox-disk-"));
  isMounted = mayMount && spawnSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE}`, "tmpfs", mount]).status === 0;
});
afterEach(async () => {
  await server?.kill();
  server = null;
  if (isMounted) spawnSync("umount", ["-l", mount]);
  rmSync(mount, { recursive: true, force: true });
});

const call = (method: string, route: string, body?: unknown) =>
  send({ url: server?.url ?? "", key: server?.adminKey ?? "" }, method, route, body);

const ballast = (): string => path.join(mount, "ballast");
/** Fills the disk until this many bytes are left. */
const leave = (bytes: number): void => {
  const { bavail, bsize } = statfsSync(mount);
  const count = Math.max(0, bavail * bsize - bytes);
  try {
    writeFileSync(ballast(), Buffer.alloc(count), { flag: "a" });
  } catch (error) {
    // The server wrote meanwhile: the disk is as full as it gets.
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
};
const free = (): void => truncateSync(ballast(), 0);

test.skipIf(!mayMount)(
  "a disk that fills refuses new work as such, ends what runs, says so, and goes on once there is room",
  async () => {
    server = await startSelfHosted(path.join(mount, "data"), { env: { SERVICE_LOG: "json" } });
    await call("POST", "/presence", { instance: "w", provider: "p", status: "idle", tags: "", concurrency: 9 });
    const running = (await call("POST", "/dispatch", { prompt: "runs" })).body;
    const kept = (await call("POST", "/api/jobs", { prompt: "kept", run_at: "2099-01-01T00:00:00Z" })).body;

    leave(2 * MIB);
    await expect.poll(async () => String((await call("GET", "/health")).body.warnings)).toContain("is full");
    for (const [method, route, body] of [
      ["POST", "/api/jobs", { prompt: "new" }],
      ["POST", "/dispatch", { prompt: "new" }],
      ["POST", "/api/jobs/batch", { jobs: [{ prompt: "new" }] }],
    ] as const) {
      const refused = await call(method, route, body);
      expect([route, refused.status, refused.body.code]).toEqual([route, 503, "storage_full"]);
    }
    expect(await call("GET", `/api/jobs/${kept.id}`)).toMatchObject({ status: 200, body: { prompt: "kept" } });
    const done = { lease: running.lease, result: "done" };
    expect((await call("POST", `/api/jobs/${running.id}/complete`, done)).status).toBe(200);
    expect((await call("POST", "/killswitch", { level: 1, reason: "full" })).status).toBe(200);
    expect((await call("DELETE", "/killswitch?resume_all=true")).status).toBe(200);
    const metrics = await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${server.adminKey}` } });
    expect(await metrics.text()).toContain("signalbox_disk_full 1");
    expect(server.output().match(/"event":"disk\.full"/g)).toHaveLength(1);

    // No byte left: still a clear error, and the server is still alive.
    leave(0);
    for (let count = 0; count < 20; count += 1) {
      const { status, body } = await call("POST", "/api/jobs", { prompt: "x".repeat(100_000) });
      expect([status, body.code]).toEqual([503, "storage_full"]);
      const read = await call("GET", `/api/jobs/${running.id}`);
      expect([read.status, read.body.status]).toEqual([200, "completed"]);
      const halt = await call("POST", "/killswitch", { level: 1, reason: `try ${count}` });
      expect([200, 503]).toContain(halt.status);
      if (halt.status === 503) expect(halt.body.code).toBe("storage_full");
    }

    free();
    await expect.poll(async () => (await call("DELETE", "/killswitch?resume_all=true")).status).toBe(200);
    await expect.poll(async () => (await call("POST", "/api/jobs", { prompt: "room" })).status).toBe(201);
    await expect.poll(async () => (await call("GET", "/api/jobs")).body.total).toBe(3);
  },
  120_000,
);

test.skipIf(!mayMount)(
  "no file takes the room that reports need: not in one request, in parts, or with a tenant that moves here",
  async () => {
    server = await startSelfHosted(path.join(mount, "data"), { env: { SERVICE_LOG: "json" } });
    const admin = { url: server.url, key: readFileSync(path.join(mount, "data", "root.key"), "utf8").trim() };
    await call("POST", "/presence", { instance: "w", provider: "p", status: "idle", tags: "", concurrency: 9 });
    const running = (await call("POST", "/dispatch", { prompt: "runs" })).body;
    const sendForm = async (route: string, field: string, bytes: number) => {
      const form = new FormData();
      form.append("purpose", "user_data");
      form.append(field, new Blob([Buffer.alloc(bytes)]), "a.bin");
      const init = { method: "POST", headers: { authorization: `Bearer ${server?.adminKey}` }, body: form };
      const answer = await fetch(`${server?.url}${route}`, init);
      const { error } = (await answer.json()) as { error?: { code: string } };
      return error?.code ?? answer.status;
    };
    expect(await sendForm("/v1/files", "file", 150 * MIB)).toBe("storage_full");
    // What had come of it is gone.
    await expect.poll(() => statfsSync(mount).bavail * statfsSync(mount).bsize).toBeGreaterThan(70 * MIB);

    const upload = { bytes: 400 * MIB, filename: "b.bin", purpose: "user_data", mime_type: "text/plain" };
    const { id } = (await call("POST", "/v1/uploads", upload)).body;
    let last: number | string = 200;
    for (let count = 0; count < 40 && last === 200; count += 1)
      last = await sendForm(`/v1/uploads/${id}/parts`, "data", 4 * MIB);
    expect(last).toBe("storage_full");

    leave(2 * MIB);
    await expect.poll(async () => String((await call("GET", "/health")).body.warnings)).toContain("is full");
    const arrival = { move: "m", schema: 1, created_at: "2026-01-01T00:00:00Z", jurisdiction: null };
    const says = (await send(admin, "POST", "/admin/tenants/moved/arrive", arrival)).body.detail;
    const schema = Number(/this release has (\d+)/.exec(says)?.[1]);
    expect((await send(admin, "POST", "/admin/tenants/moved/arrive", { ...arrival, schema })).status).toBe(201);
    const rows = { place: "object", table: "keys", columns: ["id"], rows: [], next: null, is_first: true };
    const written = await send(admin, "POST", "/admin/tenants/moved/rows", rows);
    expect([written.status, written.body.code]).toEqual([503, "storage_full"]);

    const done = { lease: running.lease, result: "x".repeat(100_000) };
    expect((await call("POST", `/api/jobs/${running.id}/complete`, done)).status).toBe(200);
    expect((await call("POST", "/killswitch", { level: 1, reason: "full" })).status).toBe(200);
    free();
    expect((await call("POST", `/v1/uploads/${id}/cancel`, {})).status).toBe(200);
    await expect.poll(async () => sendForm("/v1/files", "file", 20 * MIB)).toBe(200);
  },
  120_000,
);

test.skipIf(!mayMount)("the number of processes is kept whole, or not at all", () => {
  const dir = dataDirAt(mount);
  leave(0);
  expect(() => keepProcessCount(dir, 2)).toThrow("ENOSPC");
  free();
  expect(keepProcessCount(dir, 3)).toBe(3);
  // The number decides where the tenants are.
  writeFileSync(dir.processCount, "");
  expect(() => keepProcessCount(dir, 3)).toThrow("processes.json is damaged");
});

test.skipIf(!mayMount)("a backup onto a full disk says so in a sentence, and leaves nothing like a backup", () => {
  const data = mkdtempSync(path.join(tmpdir(), "signalbox-data-"));
  mkdirSync(path.join(data, "state", "d1", "history"), { recursive: true });
  const db = new DatabaseSync(path.join(data, "state", "d1", "history", "one.sqlite"));
  db.exec("CREATE TABLE filler AS SELECT randomblob(3000000)");
  db.close();
  const env = { ...process.env, SERVICE_DATA_DIR: data };
  // Of the copy and of the archive only the first fits.
  for (const bytes of [1, 5]) {
    leave(bytes * MIB);
    const args = ["--disable-warning=ExperimentalWarning", "scripts/backup.ts", path.join(mount, "copy.tar")];
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, env, encoding: "utf8" });
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^The disk that holds .* is full \(.*\n$/)]);
    expect(readdirSync(mount)).toEqual(["ballast"]);
    free();
  }
  rmSync(data, { recursive: true });
});

test.skipIf(!mayMount)(
  "a start on a full disk says so in a sentence",
  async () => {
    leave(0);
    await expect(startSelfHosted(path.join(mount, "data"))).rejects.toThrow(
      /The disk that holds .* is full \(0 MiB left\): free some space and start again/,
    );
  },
  60_000,
);

test.skipIf(!mayMount)(
  "a disk that can only be read any more counts as full, and keeps no server from ending",
  async () => {
    const dir = dataDirAt(mount);
    const server = { freeze: () => undefined, thaw: () => undefined } as unknown as Parameters<typeof serveFreezing>[1];
    const freezing = await serveFreezing(dir, server);
    expect(readDisk(mount).state).toBe("ok");
    expect(spawnSync("mount", ["-o", "remount,ro", mount]).status).toBe(0);
    expect(readDisk(mount)).toMatchObject({ state: "full", freeBytes: 0 });
    // Somebody would free space, and get nowhere.
    expect(fullDiskError(new Error("EROFS: read-only file system"), path.join(mount, "data"))).toBe(null);
    expect(() => freezing.close()).not.toThrow();
  },
);
