// A command that waits for a job says what the job waits for.

import { describe, expect, it } from "vitest";
import { runCommand } from "./run-command.ts";

const pending = (waiting_reason: string | null) => ({ status: "pending", waiting_reason });
const COMPLETED = { status: "completed", waiting_reason: null, result: { text: "done" } };

/** A service that answers each reading of the job with the next of these, and the last one from then on. */
const jobThatIs = (states: readonly object[]) => {
  const left = [...states];
  return (url: URL, { method }: RequestInit) => {
    const next = left.length > 1 && method === "GET" ? left.shift() : left[0];
    const job = { id: "j-1", error: null, ...next };
    if (!url.pathname.endsWith("/stream")) return job;
    return new Response('id: 1\nevent: chunk\ndata: {"text":"done"}\n\nid: 2\nevent: end\ndata: {}\n\n', {
      headers: { "content-type": "text/event-stream" },
    });
  };
};

const GPU = 'no worker offers tag "gpu"';
const PAUSED = 'worker "w1" is paused';

describe.each([[["run", "hi", "--wait"]], [["jobs", "get", "j-1", "--wait"]]])("%j", (argv) => {
  it("says each new reason once, on stderr alone", async () => {
    const states = [pending(GPU), pending(GPU), pending(PAUSED), pending(PAUSED), COMPLETED];
    const { out, err } = await runCommand([...argv, "--json"], jobThatIs(states));
    expect(err).toBe(`Job j-1 waits: ${GPU}\nJob j-1 waits: ${PAUSED}\n`);
    expect(JSON.parse(out)).toMatchObject({ id: "j-1", status: "completed" });
  });

  it("says it again after the job had begun and waits once more", async () => {
    const running = { status: "running", waiting_reason: null };
    const { err } = await runCommand(argv, jobThatIs([pending(GPU), running, pending(GPU), COMPLETED]));
    expect(err.match(/waits/g)).toHaveLength(2);
  });

  it("says nothing of a job that does not wait", async () => {
    expect((await runCommand(argv, jobThatIs([COMPLETED]))).err).toBe("");
  });
});

it("run --stream says it, too, and leaves the output alone", async () => {
  const { out, err, code } = await runCommand(["run", "hi", "--stream"], jobThatIs([pending(GPU), COMPLETED]));
  expect(out).toBe("done\n");
  expect(err).toBe(`Job j-1\nJob j-1 waits: ${GPU}\n`);
  expect(code).toBe(0);
});

it("jobs watch goes on where the service was away meanwhile", async () => {
  let looks = 0;
  const { out, err, code } = await runCommand(["jobs", "watch", "j-1"], () => {
    looks += 1;
    // Once more than a call repeats itself.
    if (looks <= 3) return Promise.reject(new TypeError("the connection was refused"));
    return { id: "j-1", prompt: "hi", created_at: "2026-11-22T10:00:00.000Z", assigned_worker: null, ...COMPLETED };
  });
  expect(out).toContain("completed");
  expect(err).toContain("No answer from Signalbox");
  expect(code).toBe(0);
});
