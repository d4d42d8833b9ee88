// How a child process is asked to end, and what it shares with us.

import { expect, test } from "vitest";
import { apart, supervise } from "../../../self-host/children/supervised.ts";

const GRACE_MS = 20_000;
const HERE = { env: process.env, cwd: process.cwd() };
/** Says by its exit code what it was told. */
const LISTENS = `
  process.on("message", (told) => process.exit(told === "shutdown" ? 7 : 1));
  setInterval(() => {}, 1_000);
`;

test("one that is told in words ends by itself, as on Windows, where a signal would end it at once", async () => {
  const child = supervise("a child", [process.execPath, ["-e", LISTENS]], { ...HERE, isTold: true });
  await child.stop(GRACE_MS);
  expect(await child.exited).toEqual({ code: 7, signal: null });
});

test("one that is not told gets a signal", async () => {
  const child = supervise("a child", [process.execPath, ["-e", LISTENS]], HERE);
  await child.stop(GRACE_MS);
  expect(await child.exited).toEqual({ code: null, signal: "SIGTERM" });
});

test("on Windows it has no console of ours, and is not detached, so that it ends with us", () => {
  expect(apart("win32")).toEqual({ windowsHide: true, detached: false });
  expect(apart("linux")).toEqual({ detached: true });
});
