import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { formBody } from "../../../worker/calls/form-body.ts";

const file = (id: string, name: string, text: string) => ({
  id,
  name,
  bytes: Buffer.byteLength(text),
  content_type: "image/png",
  url: text,
});

/** A file whose link is its bytes. */
const open = async ({ url }: { url: string }) => Readable.from([Buffer.from(url)]) as AsyncIterable<Uint8Array>;

test("any form reads as the client wrote it, and has the length that it declares", async () => {
  const files = [file("file-1", 'a "b"\n.png', "one"), file("file-2", "ü.png", "zwei")];
  const fields = {
    model: "m",
    "image[]": [{ file: "file-1" }, { file: "file-2" }],
    'odd "name"': "ä",
    "timestamp_granularities[]": ["word", "segment"],
  };
  const body = formBody(fields as never, files, open);
  const pieces: Uint8Array[] = [];
  for await (const piece of body.pieces()) pieces.push(piece);
  const bytes = Buffer.concat(pieces);
  expect(bytes.byteLength).toBe(body.bytes);
  const read = await new Response(bytes, { headers: { "content-type": body.type } }).formData();
  const plain = await Promise.all(
    [...read].map(async ([name, value]) =>
      typeof value === "string" ? [name, value] : [name, value.name, value.type, await value.text()],
    ),
  );
  expect(plain).toEqual([
    ["model", "m"],
    ["image[]", 'a "b"\n.png', "image/png", "one"],
    ["image[]", "ü.png", "image/png", "zwei"],
    ['odd "name"', "ä"],
    ["timestamp_granularities[]", "word"],
    ["timestamp_granularities[]", "segment"],
  ]);
});

test("a file that the job does not have is no form", () => {
  expect(() => formBody({ file: { file: "file-9" } } as never, [], open)).toThrow("no file for the field file");
});
