// The path of a file that a config reads, as workerd understands it on every system.

import path from "node:path";
import { expect, it } from "vitest";
import { embed } from "../../../self-host/config/capnp-text.ts";

const pathIn = ({ text }: { text: string }): string => JSON.parse(text.replace("embed ", "")) as string;

it.each([
  ["/data", "/srv/box/dist/index.js", "/srv/box/dist/index.js"],
  ["/srv/box/.data", "/srv/box/.data/worker.js", "/srv/box/.data/worker.js"],
])("leads from %s to %s", (folder, file, expected) => {
  expect(path.posix.resolve(folder, pathIn(embed(folder, file, path.posix)))).toBe(expected);
});

it.each([
  ["C:\\Users\\Ann Lee\\box\\.data", "../../../../../C:/Users/Ann Lee/box/dist/index.js"],
  ["D:\\data", "../../C:/Users/Ann Lee/box/dist/index.js"],
])("on Windows it has slashes, and leads from %s to another drive, too", (folder, expected) => {
  expect(pathIn(embed(folder, "C:\\Users\\Ann Lee\\box\\dist\\index.js", path.win32))).toBe(expected);
});
