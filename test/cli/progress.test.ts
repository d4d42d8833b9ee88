// What takes longer than a second shows how far it is: on a terminal, and nowhere else.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Output } from "../../cli/output.ts";
import { bytesText, countedBlob, Progress } from "../../cli/progress.ts";
import { runCommand } from "./run-command.ts";

const outputOn = (isTerminal: boolean) => {
  const said: string[] = [];
  const sink = { write: (text: string) => void said.push(text), isTerminal, columns: 100 };
  return { said, output: new Output({ out: sink, err: sink, isJson: false, hasColour: false }) };
};

it.each([
  [0, "0 B"],
  [999, "999 B"],
  [1_500, "1.5 KB"],
  [12_340_000, "12.3 MB"],
  [5e15, "5000.0 TB"],
])("%d bytes are %s", (bytes, text) => expect(bytesText(bytes)).toBe(text));

describe("bytes that are sent or fetched", () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 0 });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("show nothing in the first second, then a bar, and nothing of it stays", () => {
    const { said, output } = outputOn(true);
    const progress = new Progress(output, "Sends a", 4_000_000);
    progress.add(1_000_000);
    expect(said).toEqual([]);
    vi.setSystemTime(2_000);
    progress.add(1_000_000);
    expect(said).toEqual(["\r\u001b[KSends a [##########----------] 2.0 MB of 4.0 MB, 1.0 MB/s, 2.0 s left"]);
    progress.add(1);
    expect(said).toHaveLength(1);
    progress.end();
    expect(said.at(-1)).toBe("\r\u001b[K");
  });

  it("say nothing in a pipe", () => {
    const { said, output } = outputOn(false);
    const progress = new Progress(output, "Sends a", null);
    vi.setSystemTime(2_000);
    progress.add(1);
    progress.end();
    expect(said).toEqual([]);
  });
});

it("a blob is counted each time that it is read, from the beginning", async () => {
  const { said, output } = outputOn(true);
  const progress = new Progress(output, "Sends a", 3);
  const blob = countedBlob(new Blob(["abc"]), progress);
  for (let time = 0; time < 2; time += 1) expect(await new Response(blob.stream()).text()).toBe("abc");
  expect([blob.size, said]).toEqual([3, []]);
});

it("a job that is waited for shows where it is and how far, on a terminal", async () => {
  const created_at = new Date(Date.now() - 5_000).toISOString();
  const job = { id: "j1", status: "pending", created_at, started_at: null, waiting_reason: "no worker", error: null };
  const running = { ...job, status: "running", started_at: created_at, waiting_reason: null, assigned_worker: "w1" };
  const states = [
    job,
    { ...running, progress: { progress: 0.5, message: "counting" } },
    { ...job, status: "completed", result_files: [] },
  ];
  const { err } = await runCommand(["jobs", "get", "j1", "--wait"], () => states.shift() ?? {}, null, true);
  expect(err).toMatch(/Job j1 waits 5\.\d s: no worker/);
  expect(err).toMatch(/Job j1 runs on w1 for 5\.\d s \[##########-{10}\] 50 % counting/);
  expect(err.endsWith("\r\u001b[K")).toBe(true);
});

describe("why a command waits for the service", () => {
  const AWAY = new Error("The tenant does not answer");

  it("is said once in a pipe, and again after something else", () => {
    const { said, output } = outputOn(false);
    for (let tried = 0; tried < 3; tried += 1) output.away(AWAY);
    expect(said).toEqual(["The tenant does not answer: tries again\n"]);
    output.say("Job j-1 waits");
    output.away(AWAY);
    expect(said).toHaveLength(3);
  });

  it("is a line of a terminal that is gone before the answer", () => {
    const { said, output } = outputOn(true);
    for (let tried = 0; tried < 3; tried += 1) output.away(AWAY);
    output.value({}, "done");
    const line = "\r\u001b[KThe tenant does not answer: tries again";
    expect(said).toEqual([line, line, line, "\r\u001b[K", "done\n"]);
  });

  it("leaves the text that came before on the terminal", () => {
    const { said, output } = outputOn(true);
    output.raw("Hel");
    output.raw("");
    for (let tried = 0; tried < 2; tried += 1) output.away(AWAY);
    output.raw("lo\n");
    output.say("Job j-1 waits");
    const line = "\r\u001b[KThe tenant does not answer: tries again";
    expect(said).toEqual(["Hel", "", "\n", line, line, "\r\u001b[K", "lo\n", "Job j-1 waits\n"]);
  });
});
