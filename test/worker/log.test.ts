// What the worker's log may show on its operator's terminal.

import { afterEach, expect, test, vi } from "vitest";
import { openWorkerLog } from "../../worker/log.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

test("a runtime's words, which may repeat a client's prompt, are one line without control sequences", () => {
  const shown = vi.spyOn(console, "log").mockReturnValue();
  openWorkerLog({}, "w")("job 1 failed: bad prompt: a\u001b]0;title\u0007\nworker: job 2 completed\u009b2J");
  expect(shown.mock.calls).toEqual([["worker: job 1 failed: bad prompt: a ]0;title worker: job 2 completed 2J"]]);
});
