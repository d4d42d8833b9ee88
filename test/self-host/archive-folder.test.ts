// The archive's folder as the processes with the tenants see it: over a socket, and on the disk before the answer.

import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import path from "node:path";
import { expect, test } from "vitest";
import { archiveFolder, serveArchive } from "../../self-host/edge/archive-folder.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const folder = folderForEachTest();

const ask = (socketPath: string, method: string, at: string, body = ""): Promise<[status: number, text: string]> =>
  new Promise((resolve, reject) => {
    const sent = request({ socketPath, method, path: at }, async (answer) => {
      const pieces: Buffer[] = [];
      for await (const piece of answer) pieces.push(piece as Buffer);
      resolve([answer.statusCode ?? 0, Buffer.concat(pieces).toString()]);
    });
    sent.on("error", reject);
    sent.end(body);
  });

test.skipIf(process.platform === "win32")("what could not be written leaves nothing that takes room", async () => {
  const root = path.join(folder.path, "archive");
  mkdirSync(path.join(root, "acme", "2026-11-23", "a.ndjson.gz"), { recursive: true });
  const put = { method: "PUT", body: new Uint8Array(100) } as const;
  await expect(archiveFolder(root).fetch("http://archive/acme/2026-11-23/a.ndjson.gz", put)).rejects.toThrow();
  expect(readdirSync(path.join(root, "acme", "2026-11-23"))).toEqual(["a.ndjson.gz"]);
});

test("what is put is there, reads as it was, and goes with its tenant", async () => {
  const root = path.join(folder.path, "archive");
  const socket = path.join(folder.path, "archive.sock");
  const local = archiveFolder(root);
  const server = await serveArchive(local, socket);
  try {
    const part = "/acme/2026-11-23/a.ndjson.gz";
    expect((await ask(socket, "PUT", part, "bytes"))[0]).toBe(500);
    mkdirSync(root);
    expect(await ask(socket, "PUT", part, "bytes")).toEqual([204, ""]);
    expect(readFileSync(path.join(root, part), "utf8")).toBe("bytes");
    expect(await ask(socket, "GET", part)).toEqual([200, "bytes"]);
    expect(await (await local.fetch(`http://archive${part}`)).text()).toBe("bytes");
    expect((await ask(socket, "GET", "/acme/2026-11-23/b.ndjson.gz"))[0]).toBe(404);
    expect((await ask(socket, "GET", "/acme"))[0]).toBe(404);
    expect((await ask(socket, "GET", "/../archive.sock"))[0]).toBe(404);
    expect((await ask(socket, "DELETE", "/acme"))[0]).toBe(204);
    expect(readdirSync(root)).toEqual([]);
    // As a disk that is not mounted: what was put there is not gone.
    expect((await ask(socket, "GET", part))[0]).toBe(500);
    rmSync(root, { recursive: true });
    expect((await ask(socket, "GET", part))[0]).toBe(500);
    expect((await ask(socket, "PUT", part, "bytes"))[0]).toBe(500);
  } finally {
    server.close();
  }
});
