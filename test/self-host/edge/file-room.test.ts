// The room on the disk for the bytes of files.

import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { watchDisk } from "../../../self-host/edge/disk-watch.ts";

const MIB = 1024 * 1024;

it("a file passes until it would take what reports need, and what others may still write counts", () => {
  const disk = { freeBytes: 200 * MIB, totalBytes: 4096 * MIB, state: "ok" as const };
  const watch = watchDisk("data", () => ({ ...disk }));
  const refusals: string[] = [];
  const openFile = (name: string) => {
    const file = new PassThrough();
    const end = watch.files.watch(file, ({ message }) => refusals.push(`${name}: ${message}`));
    const write = (mib: number) => {
      for (let count = 0; count < mib; count += 1) {
        file.emit("data", Buffer.alloc(MIB));
        disk.freeBytes -= MIB;
      }
    };
    return { write, end };
  };
  try {
    const [one, other] = [openFile("one"), openFile("other")];
    one.write(100);
    other.write(12);
    expect(refusals).toEqual([]);
    // 88 MiB are free, of which 64 are kept and 24 may be written already.
    one.write(2);
    expect(refusals).toEqual([expect.stringMatching(/^one: database or disk is full/)]);
    one.write(2);
    expect(refusals).toHaveLength(1);
    one.end();
    one.end();
    other.write(5);
    expect(refusals).toHaveLength(1);
    other.end();
    openFile("last").write(10);
    expect(refusals).toEqual([expect.any(String), expect.stringMatching(/^last/)]);
  } finally {
    watch.stop();
  }
});
