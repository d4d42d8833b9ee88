import { expect, it, vi } from "vitest";
import { moveFile } from "../../cli/move-files.ts";

const FILE = { id: "file-1", sha256: "aa", expiresAt: 2_000 };

it("a file that differs there stops the move", async () => {
  const ends = { read: async () => new Response("x"), write: async () => ({ bytes: 1, sha256: "bb" }) };
  await expect(moveFile(ends, FILE, 1_000)).rejects.toThrow("differs there");
  expect(await moveFile({ ...ends, write: async () => ({ bytes: 1, sha256: "aa" }) }, FILE, 1_000)).toBe(true);
});

it("a file that has ended, or never arrived, has nothing to copy", async () => {
  const read = async () => {
    throw new Error("nothing is read");
  };
  const ends = { read, write: read };
  expect(await moveFile(ends, FILE, 2_000)).toBe(false);
  expect(await moveFile(ends, { ...FILE, sha256: null }, 1_000)).toBe(false);
});

it("a file that a batch made is read where its bytes lie", async () => {
  const read = vi.fn(async () => new Response("x"));
  const ends = { read, write: async () => ({ bytes: 1, sha256: "aa" }) };
  await moveFile(ends, { ...FILE, view: { fileId: "file-2", batch: "batch_1", form: "out" } }, 1_000);
  expect(read).toHaveBeenCalledWith("file-2", { batch: "batch_1", form: "out" });
});
