// What becomes of a process when nobody reads any more what it prints.

import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { expect, test } from "vitest";

const MODULE = path.resolve(import.meta.dirname, "../../log/unread.ts");
const DONE = 7;
/** By `console`, and by the streams themselves, as what children print is passed on. */
const TALKS = `
  let left = 30;
  const say = () => {
    for (const line of ["a", "b"]) console.log(line), console.error(line), process.stdout.write(line + "\\n");
    if (!left--) process.exit(${DONE});
  };
  setInterval(say, 10);`;

test.each([
  ["goes on where it is told to", `import { goOnUnread } from ${JSON.stringify(MODULE)}; goOnUnread();`, DONE],
  ["would end otherwise", "", 1],
])("it %s", async (_what, first, code) => {
  const running = spawn(process.execPath, ["--no-warnings", "--input-type=module", "-e", first + TALKS]);
  for (const stream of [running.stdout, running.stderr]) stream.once("data", () => stream.destroy());
  expect(await once(running, "exit")).toEqual([code, null]);
});
