// Files by command, on a service that is a function.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Failure } from "../../cli/failure.ts";
import { runCommand } from "./run-command.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "files-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("files", () => {
  it("put sends the file's bytes under its name, and prints the id", async () => {
    const file = path.join(folder, "in.txt");
    writeFileSync(file, "the bytes");
    const asked: string[] = [];
    const { out } = await runCommand(["files", "put", file, "--purpose", "batch"], async ({ search }, init) => {
      asked.push(search, await new Response(init.body).text());
      return { id: "file-1" };
    });
    expect([out, ...asked]).toEqual(["file-1\n", "?name=in.txt&purpose=batch", "the bytes"]);
    await expect(runCommand(["files", "put", `${file}.none`], () => ({}))).rejects.toThrow("there is no such file");
  });

  it("get writes the bytes into a file", async () => {
    const target = path.join(folder, "out.bin");
    await runCommand(["files", "get", "file-1", "--output", target], () => new Response("came back"));
    expect(readFileSync(target, "utf8")).toBe("came back");
  });

  it("get shows a terminal nothing that it would obey", async () => {
    const bytes = new TextEncoder().encode("a\u001b]0;title\u0007b\u009b2Jc\r\nü");
    const inPieces = () =>
      new Response(Readable.toWeb(Readable.from([...bytes].map((byte) => Uint8Array.of(byte)))) as never);
    const { out } = await runCommand(["files", "get", "file-1"], inPieces, null, true);
    expect(out).toBe("a ]0;title b 2Jc\n\nü");
  });

  it("get says what is wrong with where it writes, and leaves what is there if the service refuses", async () => {
    const get = (target: string, answer: () => Response) =>
      runCommand(["files", "get", "file-1", "-o", target], answer);
    const away = path.join(folder, "none", "out.bin");
    const none = path.join(folder, "none");
    await expect(get(away, () => new Response("x"))).rejects.toThrow(`cannot be written: there is no folder ${none}`);
    await expect(get(folder, () => new Response("x"))).rejects.toThrow("cannot be written: it is a folder");
    const target = path.join(folder, "kept.bin");
    writeFileSync(target, "kept");
    await expect(get(target, () => Response.json({ title: "Not found" }, { status: 404 }))).rejects.toThrow();
    expect(readFileSync(target, "utf8")).toBe("kept");
  });

  it("get says that the disk is full, or that the answer broke off, and leaves no half of a file", async () => {
    const target = path.join(folder, "half.bin");
    const broken = () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode("half")),
          pull: (controller) =>
            controller.error(new TypeError("terminated", { cause: new Error("other side closed") })),
        }),
      );
    const get = (file: string, answer: () => Response) => runCommand(["files", "get", "file-1", "-o", file], answer);
    await expect(get(target, broken)).rejects.toThrow(
      "The answer broke off: other side closed. Run the command again.",
    );
    expect(existsSync(target)).toBe(false);
    if (!existsSync("/dev/full")) return;
    await expect(get("/dev/full", () => new Response("bytes"))).rejects.toThrow(
      new Failure("/dev/full cannot be written: the disk is full"),
    );
    expect(existsSync("/dev/full")).toBe(true);
  });

  it("list shows a row each, link prints an address, delete says what it did", async () => {
    const row = { id: "file-1", bytes: 3, content_type: "text/plain", expires_at: "then", name: "a" };
    const { out } = await runCommand(["files", "list"], () => ({ files: [row], total: 1 }));
    expect(out).toBe("file-1\t3\ttext/plain\tthen\ta\n");
    const link = await runCommand(["files", "link", "file-1", "--seconds", "60"], () => ({ url: "http://x/y" }));
    expect(link.out).toBe("http://x/y\n");
    const gone = await runCommand(["files", "delete", "file-1"], () => new Response(null, { status: 204 }));
    expect(gone.err).toBe("File file-1 deleted\n");
  });
});
