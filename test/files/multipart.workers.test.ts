// Forms as they are read: whatever a file has in it, its bytes arrive, and reading it costs little.

import { expect, test } from "vitest";
import { readParts } from "../../src/files/multipart.ts";

const BOUNDARY = "-----x";
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A form of one file, as a request brings it. */
const formOf = (content: Uint8Array): ReadableStream<Uint8Array> =>
  new Blob([
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`,
    content,
    `\r\n--${BOUNDARY}--\r\n`,
  ]).stream();

const readFile = async (content: Uint8Array): Promise<Uint8Array> => {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for await (const { name, body } of readParts(formOf(content), BOUNDARY)) {
    expect(name).toBe("file");
    for await (const piece of body) pieces.push(piece.slice());
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
};

test.each([
  ["line breaks", "\r".repeat(300_000)],
  ["what begins like a boundary", `\r\n--${BOUNDARY.slice(0, -1)}`.repeat(30_000)],
  ["a boundary behind line breaks of another kind", `${"\r\r\n\n".repeat(70_000)}\r`],
  ["ends of lines far from each other", `${"x".repeat(63)}\r`.repeat(5_000)],
])("a file of %s arrives as it is", async (_, content) => {
  const sent = bytesOf(content);
  const read = await readFile(sent);
  expect(read.byteLength).toBe(sent.byteLength);
  expect(read.every((byte, at) => byte === sent[at])).toBe(true);
});

test("a file of line breaks is not searched from each of them", async () => {
  const { indexOf } = Uint8Array.prototype;
  let searches = 0;
  Uint8Array.prototype.indexOf = function (...asked) {
    searches += 1;
    return indexOf.apply(this, asked);
  };
  try {
    await readFile(new Uint8Array(640_000).fill(13));
  } finally {
    Uint8Array.prototype.indexOf = indexOf;
  }
  expect(searches).toBeLessThan(11_000);
});
