// Files: send, fetch, list and delete them, and make links.

import path from "node:path";
import type { FileResource } from "../../contract/file.ts";
import { openLocal, STANDARD } from "../local-file.ts";
import { countedBlob, Progress } from "../progress.ts";
import type { Column } from "../terminal/cells.ts";
import { when } from "../terminal/when.ts";
import type { Verb } from "../verb.ts";
import { fetchFile } from "../write-answer.ts";
import { PAGE_FLAGS, showPages } from "./pages.ts";

const ID = { name: "id", says: "the file's id" } as const;

const COLUMNS: readonly Column<FileResource>[] = [
  { title: "id", of: ({ id }) => id },
  { title: "bytes", of: ({ bytes }) => bytes },
  { title: "type", of: ({ content_type }) => content_type },
  { title: "expires", of: ({ expires_at }) => when(expires_at) },
  { title: "name", of: ({ name }) => name },
];

export const fileCommands: readonly Verb[] = [
  {
    name: "files put",
    says: "Stores a file and prints its id",
    examples: ["files put scan.pdf --type application/pdf", "files put requests.jsonl --purpose batch"],
    args: [{ name: "file", says: "the file to send" }],
    flags: {
      name: { takes: "name", says: "its name there (that of the file)" },
      type: { takes: "media-type", says: "its media type (application/octet-stream)" },
      purpose: { takes: "word", says: "to find it by" },
      expires: { takes: "seconds", says: "deletes it after so many seconds (30 days)" },
    },
    run: async ({ client, output, signal }, input) => {
      const file = input.arg("file");
      const blob = await openLocal(file, input.text("type"));
      const progress = new Progress(output, `Sends ${file}`, blob.size);
      const stored = await client()
        .files.create(countedBlob(blob, progress), {
          name: input.text("name") ?? path.basename(file),
          purpose: input.text("purpose"),
          expiresAfterSeconds: input.number("expires"),
          signal,
        })
        .finally(() => progress.end());
      output.value(stored, stored.id);
    },
  },
  {
    name: "files list",
    says: "Lists files, newest first",
    examples: ["files list", "files list --purpose batch --all"],
    flags: { purpose: { takes: "word", says: "only files with this purpose" }, ...PAGE_FLAGS },
    run: async ({ client, output, signal }, input) => {
      const read = (limit: number | null) => client().files.list({ ...input.given("purpose"), limit }, { signal });
      await showPages(output, input, "files", read, COLUMNS);
    },
  },
  {
    name: "files get",
    says: "Writes a file's bytes to stdout, or into a file",
    examples: ["files get file_1 --output scan.pdf", "files get file_1 > scan.pdf"],
    args: [ID],
    flags: { output: { takes: "file", says: "also -o: where to write it; - is stdout" } },
    run: (context, input) => fetchFile(context, input.arg("id"), input.text("output") ?? STANDARD),
  },
  {
    name: "files delete",
    says: "Deletes a file",
    examples: ["files delete file_1"],
    args: [ID],
    run: async ({ client, output, signal }, input) => {
      const id = input.arg("id");
      await client().files.remove(id, { signal });
      output.say(`File ${id} deleted`);
    },
  },
  {
    name: "files link",
    says: "Prints an address of the file that needs no key",
    examples: ["files link file_1 --seconds 600"],
    args: [ID],
    flags: { seconds: { takes: "seconds", says: "how long it lasts (3600; at most 86400)" } },
    run: async ({ client, output, signal }, input) => {
      const seconds = input.number("seconds");
      const link = await client().files.link(input.arg("id"), seconds === undefined ? {} : { seconds }, { signal });
      output.value(link, link.url);
    },
  },
];
