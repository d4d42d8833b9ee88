// A copy of a running server's folder is of the instant at which the server stood still, in all databases.

import { once } from "node:events";
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test, vi } from "vitest";
import { copyData } from "../../scripts/backup/copy-data.ts";
import { dataDirAt, lockDataDir } from "../../self-host/data/data-dir.ts";
import { serveFreezing, whileFrozen } from "../../self-host/freeze.ts";
import type { Served } from "../../self-host/served.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const folder = folderForEachTest();
const FILES = ["d1/history/one.sqlite", "objects/tenant/two.sqlite"];

test("each database is as it was while the server stood still, not as before and not as after", async () => {
  const dir = dataDirAt(path.join(folder.path, "data"));
  const lock = await lockDataDir(dir);
  const open = (file: string): DatabaseSync => {
    const place = path.join(dir.state, file);
    mkdirSync(path.dirname(place), { recursive: true });
    const database = new DatabaseSync(place);
    database.exec("PRAGMA journal_mode = WAL; CREATE TABLE said (word TEXT); INSERT INTO said VALUES ('before')");
    return database;
  };
  const databases = FILES.map(open);
  const say = (word: string): void => {
    for (const database of databases) database.prepare("UPDATE said SET word = ?").run(word);
  };
  const served = { freeze: () => say("still"), thaw: () => say("after") } as unknown as Served;
  const freezing = await serveFreezing(dir, served);
  const target = path.join(folder.path, "copy");
  mkdirSync(target);
  try {
    const { wasRunning } = await copyData(dir, target);
    const copied = FILES.map((file) => {
      const copy = new DatabaseSync(path.join(target, path.relative(dir.root, path.join(dir.state, file))));
      const word = copy.prepare("SELECT word FROM said").get()?.word;
      copy.close();
      return word;
    });
    expect([wasRunning, copied]).toEqual([true, ["still", "still"]]);
  } finally {
    freezing.close();
    for (const database of [...databases, lock]) database.close();
  }
});

test("a copy of a server that ends as it is asked to stand still fails, and does not wait for ever", async () => {
  const dir = dataDirAt(folder.path);
  const place = path.join(folder.path, "ends.sock");
  const server = createServer((socket) => socket.destroy()).listen(place);
  await once(server, "listening");
  writeFileSync(dir.freezePath, place);
  await expect(whileFrozen(dir, () => undefined)).rejects.toThrow("the server ended");
  server.close();
});

test("a copy is made of a folder that lies elsewhere for the server, as a container's volume does", async () => {
  const inside = path.join(folder.path, "inside");
  const outside = path.join(folder.path, "outside");
  mkdirSync(inside);
  const freeze = vi.fn();
  const served = { freeze, thaw: () => undefined } as unknown as Served;
  const freezing = await serveFreezing(dataDirAt(inside), served);
  renameSync(inside, outside);
  try {
    await whileFrozen(dataDirAt(outside), () => expect(freeze).toHaveBeenCalledOnce());
  } finally {
    freezing.close();
  }
});

test("a server that is not ready to be paused is named, with what to do", async () => {
  const copied = whileFrozen(dataDirAt(folder.path), () => undefined);
  await expect(copied).rejects.toThrow(
    /cannot be paused .*: try again when it is ready, where it runs and as its user/,
  );
});

test("a running server is not copied where no process can be paused, and it says what to do", async () => {
  const dir = dataDirAt(folder.path);
  const freeze = vi.fn();
  const freezing = await serveFreezing(dir, { freeze, thaw: vi.fn() } as unknown as Served, false);
  const copied = whileFrozen(dir, () => undefined, false);
  await expect(copied).rejects.toThrow(
    `Windows cannot pause the server that uses ${dir.root}: stop it, and try again.`,
  );
  freezing.close();
  expect(freeze).not.toHaveBeenCalled();
});
