// OpenAI's own client: files and uploads in parts.

import OpenAI, { toFile } from "openai";
import { describe, expect, it } from "vitest";
import { inStorage, newWorld, ORIGIN, type World } from "../support/workerd/client.ts";
import { edgeFetch } from "../support/workerd/edge.ts";

const clientOf = ({ key }: Pick<World, "key">): OpenAI =>
  new OpenAI({
    apiKey: key ?? "",
    baseURL: `${ORIGIN}/v1`,
    maxRetries: 0,
    fetch: (url, init) => edgeFetch(String(url), init as RequestInit),
  });

const MIB = 1024 * 1024;

describe("OpenAI's client", () => {
  it("stores, waits for, lists, reads and deletes a file", async () => {
    const openai = clientOf(await newWorld());
    const expires_after = { anchor: "created_at", seconds: 3_600 } as const;
    const file = await openai.files.create({
      file: await toFile(Buffer.from("{}\n"), "in.jsonl"),
      purpose: "batch",
      expires_after,
    });
    expect(file).toMatchObject({
      object: "file",
      filename: "in.jsonl",
      bytes: 3,
      purpose: "batch",
      status: "processed",
    });
    expect((file.expires_at ?? 0) - file.created_at).toBe(3_600);
    expect((await openai.files.waitForProcessing(file.id)).id).toBe(file.id);
    expect(await (await openai.files.content(file.id)).text()).toBe("{}\n");
    expect(await openai.files.delete(file.id)).toEqual({ id: file.id, object: "file", deleted: true });
    await expect(openai.files.retrieve(file.id)).rejects.toMatchObject({ status: 404 });
  });

  it("pages through many, in either order", async () => {
    const openai = clientOf(await newWorld());
    const made: string[] = [];
    for (let at = 0; at < 5; at += 1)
      made.push(
        (await openai.files.create({ file: await toFile(Buffer.from("x"), `${at}`), purpose: "user_data" })).id,
      );
    const ids = async (order: "asc" | "desc") => {
      const found: string[] = [];
      for await (const one of openai.files.list({ limit: 2, order })) found.push(one.id);
      return found;
    };
    expect((await ids("asc")).sort()).toEqual([...made].sort());
    expect(await ids("desc")).toEqual((await ids("asc")).reverse());
    for await (const { id } of openai.files.list({ limit: 1 })) await openai.files.delete(id);
    expect(await ids("asc")).toEqual([]);
    await expect(openai.files.list({ after: "file-none" })).rejects.toMatchObject({ status: 404 });
  });

  it("lists nothing behind a file of another key", async () => {
    const world = await newWorld();
    const [own, others] = [clientOf(await world.withKey("client")), clientOf(await world.withKey("client"))];
    const file = await toFile(Buffer.from("x"), "x");
    const { id } = await own.files.create({ file, purpose: "user_data" });
    expect((await own.files.list({ after: id })).data).toEqual([]);
    await expect(others.files.list({ after: id })).rejects.toMatchObject({ status: 404 });
  });

  it("is told of a form without a purpose, in its own form of errors", async () => {
    const openai = clientOf(await newWorld());
    const file = await toFile(Buffer.from("x"), "x");
    const refused = openai.files.create({ file, purpose: undefined as unknown as "batch" });
    await expect(refused).rejects.toMatchObject({ status: 400, type: "invalid_request_error" });
  });

  it("uploads in parts, whose order it says at the end", async () => {
    const openai = clientOf(await newWorld());
    const bytes = 3 * MIB;
    const upload = await openai.uploads.create({
      filename: "a.bin",
      purpose: "user_data",
      bytes,
      mime_type: "application/x-a",
    });
    expect(upload).toMatchObject({ object: "upload", status: "pending", bytes });
    const part = async (letter: string, size: number) =>
      openai.uploads.parts.create(upload.id, { data: await toFile(Buffer.from(letter.repeat(size)), "part") });
    const [b, a] = [await part("b", MIB), await part("a", 2 * MIB)];
    await expect(part("c", 4 * MIB)).rejects.toMatchObject({ status: 413 });
    await expect(openai.uploads.complete(upload.id, { part_ids: [a.id] })).rejects.toMatchObject({ status: 400 });
    const short = openai.uploads.complete(upload.id, { part_ids: [a.id, b.id], md5: "00" });
    await expect(short).rejects.toThrow("400 md5: must consist of 32 digits from 0-9 a-f A-F");
    const done = await openai.uploads.complete(upload.id, { part_ids: [a.id, b.id] });
    expect(done).toMatchObject({ status: "completed", file: { bytes, filename: "a.bin" } });
    const text = await (await openai.files.content(done.file?.id ?? "")).text();
    expect(text === "a".repeat(2 * MIB) + "b".repeat(MIB)).toBe(true);
    expect(b.object).toBe("upload.part");
  });

  it("sends a part again whose answer was lost, or that broke off", async () => {
    const world = await newWorld();
    const openai = clientOf(world);
    const bytes = 2 * MIB;
    const { id } = await openai.uploads.create({ filename: "a", purpose: "batch", bytes, mime_type: "text/plain" });
    const part = async () =>
      openai.uploads.parts.create(id, { data: await toFile(Buffer.alloc(bytes, "a"), "part") }, { maxRetries: 0 });
    const raw = `--b\r\nContent-Disposition: form-data; name="data"; filename="a"\r\n\r\n${"a".repeat(MIB)}`;
    const headers = { "content-type": "multipart/form-data; boundary=b" };
    const broken = await world.post(`/v1/uploads/${id}/parts`, undefined, { raw, headers });
    expect(broken.status).toBe(400);
    await part();
    const { id: again } = await part();
    await expect(part()).rejects.toMatchObject({ status: 413 });
    expect(await openai.uploads.complete(id, { part_ids: [again] })).toMatchObject({ file: { bytes } });
  });

  it("takes no part at full halt, and is neither completed nor cancelled", async () => {
    const world = await newWorld();
    const openai = clientOf(world);
    const { id } = await openai.uploads.create({ filename: "a", purpose: "batch", bytes: 1, mime_type: "text/plain" });
    const part = async () =>
      openai.uploads.parts.create(id, { data: await toFile(Buffer.from("x"), "part") }, { maxRetries: 0 });
    const { id: sent } = await part();
    const complete = () => openai.uploads.complete(id, { part_ids: [sent] }, { maxRetries: 0 });
    await world.ok("POST", "/killswitch", { level: 4, reason: "stop" });
    const halted = { status: 503, code: "killswitch_active" };
    await expect(part()).rejects.toMatchObject(halted);
    await expect(complete()).rejects.toMatchObject(halted);
    await expect(openai.uploads.cancel(id, { maxRetries: 0 })).rejects.toMatchObject(halted);
    await world.ok("DELETE", "/killswitch");
    expect((await complete()).status).toBe("completed");
  });

  it("completes an upload again, because its answer may have been lost, and changes it no more", async () => {
    const openai = clientOf(await newWorld());
    const { id } = await openai.uploads.create({ filename: "a", purpose: "batch", bytes: 1, mime_type: "text/plain" });
    const part = await openai.uploads.parts.create(id, { data: await toFile(Buffer.from("x"), "part") });
    const once = await openai.uploads.complete(id, { part_ids: [part.id] });
    const again = await openai.uploads.complete(id, { part_ids: [part.id] });
    expect(again).toMatchObject({
      id,
      object: "upload",
      status: "completed",
      filename: "a",
      bytes: 1,
      file: once.file,
    });
    const late = openai.uploads.parts.create(id, { data: await toFile(Buffer.from("y"), "part") });
    await expect(late).rejects.toMatchObject({ status: 404 });
    await expect(openai.uploads.cancel(id)).rejects.toMatchObject({ status: 404 });
    expect(await (await openai.files.content(once.file?.id ?? "")).text()).toBe("x");
    await openai.files.delete(once.file?.id ?? "");
    await expect(openai.uploads.complete(id, { part_ids: [part.id] })).rejects.toMatchObject({ status: 404 });
  });

  it("completes no upload of a file that came whole", async () => {
    const openai = clientOf(await newWorld());
    const file = await openai.files.create({ file: await toFile(Buffer.from("x"), "x"), purpose: "batch" });
    const completed = openai.uploads.complete(file.id.replace("file-", "upload_"), { part_ids: ["part_x"] });
    await expect(completed).rejects.toMatchObject({ status: 404 });
  });

  it("gets back what it sent, wherever the form's buffer cuts a line break or the boundary", async () => {
    const openai = clientOf(await newWorld());
    for (let cut = 0; cut < 80; cut += 7) {
      const text = "\r\n--".repeat(MIB / 16).slice(cut);
      const file = await openai.files.create({ file: await toFile(Buffer.from(text), "a"), purpose: "user_data" });
      expect((await (await openai.files.content(file.id)).text()) === text, `${cut} less`).toBe(true);
    }
  });

  it("is told that a file's end needs its seconds", async () => {
    const openai = clientOf(await newWorld());
    const expires_after = { anchor: "created_at" } as { anchor: "created_at"; seconds: number };
    const creating = openai.files.create({
      file: await toFile(Buffer.from("x"), "x"),
      purpose: "batch",
      expires_after,
    });
    await expect(creating).rejects.toMatchObject({ status: 400, param: "expires_after[seconds]" });
  });

  it("announces no more in uploads than leaves other keys room for their files", async () => {
    const world = await newWorld();
    const [own, others] = [clientOf(await world.withKey("client")), clientOf(await world.withKey("client"))];
    const asked = { filename: "a", purpose: "batch", mime_type: "text/plain" } as const;
    const announced: string[] = [];
    for (let at = 0; at < 8; at += 1) announced.push((await own.uploads.create({ ...asked, bytes: 512 * MIB })).id);
    await expect(own.uploads.create({ ...asked, bytes: 512 * MIB })).rejects.toMatchObject({
      status: 507,
      message: expect.stringContaining("this key's files take"),
    });
    const file = await others.files.create({ file: await toFile(Buffer.from("x"), "x"), purpose: "user_data" });
    expect(file.bytes).toBe(1);
    await inStorage(world, ({ sql }) => sql.exec("UPDATE file_sums SET files = 90000 WHERE owner != ''"));
    await expect(own.uploads.create({ ...asked, bytes: 1 })).rejects.toThrow("this key has 90000 files");
    await inStorage(world, ({ sql }) => sql.exec("UPDATE file_sums SET files = iif(owner = '', 100000, 9)"));
    await expect(own.uploads.create({ ...asked, bytes: 1 })).rejects.toThrow("this tenant has 100000 files");
    await own.uploads.cancel(announced[0] ?? "");
    expect((await own.uploads.create({ ...asked, bytes: 512 * MIB })).status).toBe("pending");
  });

  it("cancels an upload, which is then not there", async () => {
    const openai = clientOf(await newWorld());
    const upload = await openai.uploads.create({ filename: "a", purpose: "batch", bytes: 9, mime_type: "text/plain" });
    expect((await openai.uploads.cancel(upload.id)).status).toBe("cancelled");
    await expect(openai.uploads.cancel(upload.id)).rejects.toMatchObject({ status: 404 });
  });
});
